"""Our Multi30k tokens against the ones that the corpus's makers published, where both are in the cache directory."""
import gzip

import pytest

from annotated_transformer.data.downloads import cache_directory
from annotated_transformer.translation.bleu import multi30k_bleu, multi30k_tokens

TESTS = ["test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"]


def lines(folder: str, name: str) -> list[str]:
    path = cache_directory() / folder / name
    if not path.exists():
        pytest.skip(f"{path} is not there: set ANNOTATED_TRANSFORMER_DATA to a directory with {folder}/{name}")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


@pytest.mark.parametrize("language", ["de", "en", "fr"])
@pytest.mark.parametrize("name", [*TESTS, "val"])
def test_every_line_is_cut_as_published(name, language):
    raw = lines("multi30k", f"{name}.{language}.gz")
    published = lines("multi30k-tok", f"{name}.lc.norm.tok.{language}.gz")
    assert len(raw) == len(published) > 400
    cut = [multi30k_tokens(line, language) for line in raw]
    assert [i for i, (ours, theirs) in enumerate(zip(cut, published), 1) if ours != theirs] == []


@pytest.mark.slow
@pytest.mark.parametrize("language", ["de", "en", "fr"])
def test_every_line_of_the_training_text_is_cut_as_published(language):
    test_every_line_is_cut_as_published("train", language)


def test_the_reference_has_as_many_tokens_as_the_published_result():
    "Wu et al. 2021 print 12,103 reference tokens beside their 41.02 on test2016."
    references = lines("multi30k", "test_2016_flickr.de.gz")
    score = multi30k_bleu(references, references)
    assert score.reference_length == 12103
    assert score.score > 99.99

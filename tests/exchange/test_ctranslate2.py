"Tests of exchange.ctranslate2."
import sys

import pytest
import sentencepiece

from annotated_transformer import InputError, Transformer, TransformerConfig, Translator
from annotated_transformer.config import Search
from annotated_transformer.data.batching import pad
from annotated_transformer.exchange.ctranslate2 import to_ctranslate2
from annotated_transformer.translation.fast_search import beam_search


def test_ctranslate2_gives_our_translations_and_their_probabilities(tmp_path):
    ctranslate2 = pytest.importorskip("ctranslate2")
    sentences = ["Two dogs are playing in the snow.", "A man repairs his bicycle and a child watches him.", "She reads ☃.", "Dogs."]
    numbers = ["ninety-nine thousand and one", "on the third of March at half past seven", "forty-two"]
    for name, beam_size, lines in (("multi30k-en-de", 1, sentences), ("numbers-en-de", 4, numbers)):
        shipped = Translator.from_pretrained(name, device="cpu")
        to_ctranslate2(shipped, directory := tmp_path / "new" / name)
        cut = sentencepiece.SentencePieceProcessor(str(directory / "tokenizer.model"))
        other = ctranslate2.Translator(str(directory), compute_type="float32", intra_threads=1)
        source = [cut.encode(line, out_type=str) for line in lines]
        equal = {"beam_size": beam_size, "length_penalty": 0, "min_decoding_length": 0, "max_decoding_length": 40}
        found = other.translate_batch(source, **equal, return_scores=True)
        written = [cut.piece_to_id(best.hypotheses[0]) for best in found]
        ours = beam_search(shipped.model, pad(shipped.tokenizer.encode_all(lines)), Search(beam_size=beam_size, alpha=0.0))
        assert written == [best.tokens[:40] for best, *_ in ours]
        for theirs, (best, *_) in zip(found, ours):
            if len(best.tokens) < 40:
                assert abs(theirs.scores[0] - best.log_probability) < 1e-3


def test_a_missing_library_is_named_with_what_to_type(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)  # as if it were not installed
    with pytest.raises(InputError) as refused:
        to_ctranslate2(Transformer(TransformerConfig(9, n_layers=1, d_model=8, d_ff=16, n_heads=2)), tmp_path / "nowhere")
    assert str(refused.value) == 'ctranslate2 is not installed: pip install "annotated_transformer[exchange]"'
    assert not (tmp_path / "nowhere").exists()

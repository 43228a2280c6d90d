"Token arrays whose writing was broken off, or whose files were damaged: nothing is lost, and nothing passes for whole."
import errno
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from annotated_transformer import EOS, InputError
from annotated_transformer.data import large_corpora
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer


def stand_in(model: bytes = b"1") -> SimpleNamespace:
    "A tokenizer whose words are numbers."
    def encode_all(texts, threads):
        return [[*map(int, text.split()), EOS] for text in texts]

    return SimpleNamespace(vocab_size=10, model=model, encode_all=encode_all)


def until(pairs, n: int):
    "The first pairs, and then a user who has had enough."
    yield from pairs[:n]
    raise KeyboardInterrupt


def break_off(directory: Path, pairs, n: int, **options) -> None:
    with pytest.raises(KeyboardInterrupt):
        TokenizedPairs.write(directory, "train", until(pairs, n), stand_in(), **options)


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


SEVEN = [("2 3 4", "5"), ("6", "7 8"), ("9 9 9 9", "2"), ("3", "3"), ("4 4", "5 5 5"), ("6 7", "8"), ("2", "9 9")]
FOUR = [("2 3 4", "5"), ("6", "7 8"), ("9 9 9", "2"), ("3", "3")]


def test_what_is_broken_off_is_not_taken_for_whole(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        TokenizedPairs.open(tmp_path, "train")
    first = TokenizedPairs.write(tmp_path, "train", [("4 5", "6"), ("7", "8")], stand_in())
    break_off(tmp_path, [("2", "3")], 1, chunk=1)
    with pytest.raises(InputError, match="there is no such file"):  # the old description is gone
        TokenizedPairs.open(tmp_path, "train")
    assert first[0][0].tolist() == [4, 5, EOS]  # who reads the old files still can


@pytest.mark.parametrize("suffix", [".json", ".offsets", ".tokens"])
def test_a_damaged_file_is_named(tmp_path, suffix):
    TokenizedPairs.write(tmp_path, "train", [("4", "5 6")], stand_in(), max_length=9)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".offsets", ".tokens"}
    path = tmp_path / f"train{suffix}"
    whole = path.read_bytes()
    for data in (whole[:-1], b"", b"{}" if suffix == ".json" else None):
        path.unlink() if data is None else path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            TokenizedPairs.open(tmp_path, "train")
        assert str(caught.value).startswith(str(path)) and str(tmp_path) in str(caught.value)
    path.write_bytes(whole)
    assert len(TokenizedPairs.open(tmp_path, "train")) == 1


@pytest.mark.parametrize("offsets, said", [
    ([2**60, 2**61, 2**62], "lead out of the file"), ([-(2**62), 2, 5], "lead out of the file"), ([0, 2, 2**62], "lead out"),
    ([0, 0, 5], "without a token"), ([0, 7, 5], "without a token"), ([4, 2, 5], "without a token"),
])
def test_offsets_that_lead_astray_are_refused_before_memory_is_taken(tmp_path, offsets, said):
    TokenizedPairs.write(tmp_path, "train", [("4", "5 6"), ("7", "8")], stand_in())
    np.array([*offsets, 7, 9]).tofile(tmp_path / "train.offsets")
    pairs = TokenizedPairs.open(tmp_path, "train")
    with pytest.raises(InputError, match=f"train.*{said}"):
        pairs[0]
    if said == "without a token":
        with pytest.raises(InputError, match="train.offsets: pair 1 has a sentence without a token"):
            pairs.lengths_of([1, 0])
        assert pairs[1][1].tolist() == [8, EOS]


def test_a_token_below_zero_is_none(tmp_path):
    many = stand_in()
    many.vocab_size = 2**17
    pairs = TokenizedPairs.write(tmp_path, "train", [("4 5", "6")], many)
    tokens = np.fromfile(tmp_path / "train.tokens", np.int32)
    tokens[1] = -5
    tokens.tofile(tmp_path / "train.tokens")
    pairs.vocab_size = 2**17
    with pytest.raises(InputError, match="train.tokens: pair 1 has the token"):
        pairs[0]


@pytest.mark.parametrize("n", range(len(SEVEN) + 1))
def test_a_broken_off_write_goes_on_and_ends_with_the_same_bytes(tmp_path, n):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    TokenizedPairs.write(whole, "train", SEVEN, stand_in(), max_length=4, chunk=2)
    for stop in (n, len(SEVEN)):  # broken off twice, then finished
        break_off(broken, SEVEN, stop, max_length=4, chunk=2)
        assert not (broken / "train.json").exists()
        for part in ("tokens", "offsets"):  # as if killed in the middle of writing
            with open(broken / f"train.{part}", "ab") as file:
                file.write(b"garbage")
    state = json.loads((broken / "train.progress").read_text())
    assert state["read"] == 6 and state["left_out"] == 1  # whole chunks
    TokenizedPairs.write(broken, "train", SEVEN, stand_in(), max_length=4, chunk=3)
    assert content(broken) == content(whole)


def test_what_was_done_is_not_done_again(tmp_path):
    break_off(tmp_path, SEVEN, 4, max_length=4, chunk=2)
    seen, tokenizer = [], stand_in()
    tokenizer.encode_all = lambda texts, threads: seen.extend(texts) or [[EOS]] * len(texts)
    TokenizedPairs.write(tmp_path, "train", SEVEN, tokenizer, max_length=4, chunk=2)
    assert seen == ["4 4", "6 7", "5 5 5", "8", "2", "9 9"]


@pytest.mark.parametrize("model, max_length", [(b"2", 4), (b"1", 3), (b"1", None)])
def test_other_settings_begin_anew(tmp_path, model, max_length):
    break_off(tmp_path, FOUR, 2, max_length=4, chunk=1)
    pairs = TokenizedPairs.write(tmp_path, "train", FOUR[1:], stand_in(model), max_length)
    kept = [pair for pair in FOUR[1:] if len(pair[0].split()) < (max_length or 9)]
    assert [[len(row) - 1 for row in pair] for pair in pairs] == [[len(text.split()) for text in pair] for pair in kept]


@pytest.mark.parametrize("other", [FOUR[1:], FOUR[:1], [("2 3 4", "6"), *FOUR[1:]], [FOUR[0], ("6 7", "8"), *FOUR[2:]]])
def test_other_sentences_are_refused(tmp_path, other):
    break_off(tmp_path, FOUR, 2, max_length=4, chunk=1)
    with pytest.raises(InputError, match="train.progress: .* delete this file"):
        TokenizedPairs.write(tmp_path, "train", other, stand_in(), max_length=4)
    assert not (tmp_path / "train.json").exists()


def test_half_a_character_is_refused_and_nothing_is_prepared(tmp_path):
    tokenizer = Tokenizer.train(["a b c", "b c d"], 9)
    with pytest.raises(InputError, match="half a character"):
        TokenizedPairs.write(tmp_path, "train", [("a", "b"), ("c \ud83d", "d")], tokenizer)
    assert not (tmp_path / "train.json").exists()


def test_what_the_system_gives_in_pieces_is_read_to_the_end(tmp_path, monkeypatch):
    pairs = TokenizedPairs.write(tmp_path, "train", SEVEN, stand_in())  # each number of the offsets takes 8 bytes
    whole, read_at = pairs.lengths.tolist(), large_corpora._read_at
    monkeypatch.setattr(large_corpora, "_read_at", lambda file, size, place: read_at(file, min(size, 7), place))
    assert pairs.lengths.tolist() == whole  # as Linux gives 2 GiB at most


@pytest.mark.parametrize("window", (4, 5, 2**21))
def test_many_places_of_a_file_are_read_window_by_window(window, tmp_path, monkeypatch):
    pairs = TokenizedPairs.write(tmp_path, "train", SEVEN, stand_in())
    rows = np.array([5, 0, 6, 2, 2])
    with monkeypatch.context() as patch:
        patch.setattr(large_corpora, "WINDOW", window)
        found = pairs.lengths_of(rows)
    assert found.tolist() == [[len(pairs[i][0]), len(pairs[i][1])] for i in rows]


@pytest.mark.parametrize("row", (-1, 7))
def test_a_place_outside_of_the_file_is_refused(row, tmp_path):
    pairs = TokenizedPairs.write(tmp_path, "train", SEVEN, stand_in())
    with pytest.raises(InputError, match="its offsets lead out of the file"):
        pairs.lengths_of([3, row])


def test_few_places_of_a_long_file_are_read_one_by_one(tmp_path, monkeypatch):
    pairs = TokenizedPairs.write(tmp_path, "train", 200 * SEVEN, stand_in())
    monkeypatch.setattr(large_corpora, "WINDOW", None)  # which a reading by windows would need
    assert pairs.lengths_of([1396, 3]).tolist() == [[len(side) for side in pairs[i]] for i in (1396, 3)]


def test_a_full_disk_is_named_with_what_to_do(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(large_corpora, "_append", full)
    with pytest.raises(OSError) as caught:
        TokenizedPairs.write(tmp_path, "train", SEVEN, stand_in())
    message = f"No space left on device: make room, and the same command will continue: '{tmp_path}'"
    assert caught.value.errno == errno.ENOSPC and str(caught.value).endswith(message)

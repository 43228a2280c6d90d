"Translate with the graphs that `exchange.onnx` writes, without PyTorch: nothing here imports it."
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict, TypeVar, overload

import numpy as np

from .. import EOS, PAD, InputError, extra, reason_of
from ..config import Search, TransformerConfig, require_search
from ..data.tokenizer import Tokenizer
from ..files import named, regular
from ..json_files import read_json
from ..translation.lines import Translation, translate_lines

__all__ = ["OnnxTranslator"]


class Settings(TypedDict):
    "What settings.json holds, among other things."
    config: TransformerConfig
    search: Search
    doubtful_below: NotRequired[float | None]


Text = TypeVar("Text", str, list[str], str | list[str])  # the type that goes in comes out; for other iterables, a list
GRAPHS = {"encoder": {"source"}, "decoder": {"tokens", "path", "kept", "memory", "source"}}  # and their inputs


class Hypothesis(NamedTuple):
    "A translation in token ids, as in `translation.search`."

    tokens: list[int]        # without PAD and EOS
    score: float             # log-probability over the length penalty
    log_probability: float   # of the tokens and the EOS, in nats
    ended: bool = True       # with EOS; False if the search ran out of length


def length_penalty(length: int, alpha: float) -> float:
    "((5 + length) / 6)^α (§6.1, after Wu et al. 2016)."
    return ((5 + length) / 6) ** alpha


def continuations(
    log_p: np.ndarray,    # (B, K) log-probabilities of the beams
    logits: np.ndarray,   # (B, K, V)
    n: int,
) -> tuple[list[list[float]], list[list[int]]]:  # log-probabilities and indices in (K·V), n per sentence, most probable first
    "The most probable of all continuations."
    logits = logits - logits.max(-1, keepdims=True)
    total = (log_p[..., None] + logits - np.log(np.exp(logits).sum(-1, keepdims=True))).reshape(len(logits), -1)
    places = np.argpartition(-total, min(n, total.shape[1]) - 1)[:, :n]
    values = np.take_along_axis(total, places, 1)
    order = np.argsort(-values, axis=1, kind="stable")
    return tuple(np.take_along_axis(part, order, 1).tolist() for part in (values, places))


class OnnxTranslator:
    "Translate with what `to_onnx` wrote, using numpy, ONNX Runtime and SentencePiece."

    def __init__(
        self,
        directory: str | Path,
        threads: int = 0,   # 0: ONNX Runtime chooses
    ):
        runtime, self.name, directory = extra("onnxruntime"), str(directory), named(directory)
        self.settings = read_json(directory / "settings.json", Settings, "is this a directory that to_onnx wrote?")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        try:
            self.encoder, self.decoder = (
                runtime.InferenceSession(str(regular(directory / f"{name}.onnx")), options, providers=["CPUExecutionProvider"])
                for name in GRAPHS
            )
        except Exception as error:  # ONNX Runtime has a dozen exceptions of its own
            raise InputError(f"{directory}: this is not what to_onnx wrote, or it is damaged ({reason_of(error)})") from None
        for (name, wanted), graph in zip(GRAPHS.items(), (self.encoder, self.decoder)):
            if {given.name for given in graph.get_inputs()} != wanted:
                raise InputError(f"{directory / f'{name}.onnx'} is a different graph: use only files of one directory")
        tokenizer, tokens = directory / "tokenizer.model", self.settings["config"].vocab_size
        self.tokenizer = Tokenizer.load(tokenizer) if tokenizer.exists() else None
        written = next(given.shape[-1] for given in self.decoder.get_outputs() if given.name == "logits")
        if {tokens} != {written, self.tokenizer.vocab_size if self.tokenizer else tokens}:
            raise InputError(f"{directory}: graphs, settings.json and tokenizer.model do not belong together")

    def __repr__(self) -> str:
        c = self.settings["config"]
        return f"<OnnxTranslator {self.name}: {c.n_layers} layers, d_model {c.d_model}, {c.vocab_size:,} tokens>"

    def search(
        self,
        sentences: list[list[int]],      # ids of each source, EOS last
        search: Search | None = None,    # None: the one in the settings
    ) -> list[list[Hypothesis]]:         # per sentence, best first
        "The beam search of §6.1 over the two graphs."
        if not sentences:
            return []
        how = require_search(self.settings["search"] if search is None else search).within(self.settings["config"].vocab_size)
        K, alpha = how.beam_size, how.alpha
        limits = [min(len(row) + how.extra_length, self.settings["config"].max_length) for row in sentences]
        source = np.full((len(sentences), max(map(len, sentences))), PAD, np.int64)
        for row, ids in zip(source, sentences):
            row[: len(ids)] = ids
        memory, = self.encoder.run(["memory"], {"source": source})
        kept, path = memory[:, :, :0], np.zeros((len(source), 1, 0), np.int64)
        tokens, log_p = np.full((len(source), 1), PAD, np.int64), np.zeros((len(source), 1), np.float32)
        alive, history, finished = np.arange(len(source)), [[[]] for _ in sentences], [[] for _ in sentences]
        for length in count(1):
            given = {"tokens": tokens, "path": path, "kept": kept, "memory": memory, "source": source}
            logits, kept, path = self.decoder.run(["logits", "new_kept", "new_path"], given)
            values, places = continuations(log_p, logits, 2 * K if K > 1 else 1)
            penalty, stay, chosen = length_penalty(length, alpha), [], []
            for row, i in enumerate(alive):
                found = [(p, *divmod(place, logits.shape[-1])) for p, place in zip(values[row], places[row]) if p > -np.inf]
                ended = [Hypothesis(history[i][beam], p / penalty, p) for p, beam, token in found if token == EOS]
                finished[i] = sorted(finished[i] + ended, key=lambda hypothesis: -hypothesis.score)[:K]
                going = [(p, beam, token) for p, beam, token in found if token != EOS][:K]
                history[i] = [[*history[i][beam], token] for _, beam, token in going]
                best = going[0][0] / length_penalty(limits[i], alpha) if going else -np.inf
                if length < limits[i] and not (finished[i] and finished[i][0].score >= best):
                    stay.append(row)
                    chosen.append(going + [(-np.inf, 0, EOS)] * (K - len(going)))
                elif not finished[i]:
                    finished[i] = [Hypothesis(tokens, p / penalty, p, False) for tokens, (p, *_) in zip(history[i], going)]
            if not stay:
                return finished
            if len(stay) < len(alive):  # the others are finished
                alive, path, source, kept, memory = alive[stay], path[stay], source[stay], kept[:, stay], memory[:, stay]
            log_p = np.array([[p for p, *_ in row] for row in chosen], np.float32)
            beams, tokens = (np.array([[beam[k] for beam in row] for row in chosen], np.int64) for k in (1, 2))
            path = np.take_along_axis(path, beams[:, :, None], axis=1)

    @overload
    def translate(self, sentences: Text, search: Search | None = None, batch: int = 32, split: bool = True) -> Text: ...

    @overload
    def translate(
        self, sentences: Iterable[str], search: Search | None = None, batch: int = 32, split: bool = True,
    ) -> list[str]: ...

    def translate(
        self,
        sentences: str | Iterable[str],
        search: Search | None = None,
        batch: int = 32,     # sentences at a time
        split: bool = True,  # cut a line of several sentences, and translate each separately
    ) -> str | list[str]:    # the translation of a sentence; for a list, one for each sentence, in the same order
        "Like `Translator.translate`. A blank sentence gives an empty one."
        lines = [sentences] if isinstance(sentences, str) else sentences
        found = [translation.text for translation in self.translations(lines, search, batch, split)]
        return found[0] if isinstance(sentences, str) else found

    def translations(
        self,
        lines: Iterable[str],
        search: Search | None = None,
        batch: int = 32,
        split: bool = True,
    ) -> list[Translation]:
        "Like `translate`, each with its log-probability and whether the model is unsure of it."
        def hypotheses(rows: list[list[int]]) -> list[Hypothesis | None]:
            out: list[Hypothesis | None] = [None for _ in rows]
            n = max(1, batch)
            order = sorted((i for i, row in enumerate(rows) if len(row) > 1), key=lambda i: len(rows[i]))
            for start in range(0, len(order), n):
                part = order[start : start + n]
                for i, found in zip(part, self.search([rows[i] for i in part], search)):
                    if not found:
                        raise InputError("decoder.onnx gives no numbers for a sentence: it is damaged, so write it again")
                    out[i] = found[0]
            return out

        if self.tokenizer is None:
            raise InputError("there is no tokenizer.model next to the graphs: put the model's there, or call `search` with ids")
        longest, below = self.settings["config"].max_length, self.settings.get("doubtful_below")
        return translate_lines(lines, self.tokenizer, longest, hypotheses, below, split)

"""The searches that translation uses, for a whole batch: they find what `translation.search` finds, except for ties, and compute
nothing twice.

`translation.kv_cache` has their parts: a decoder that advances one token at a time, and the most probable continuations.
"""
import logging
from typing import Protocol

import torch
from torch import Tensor

from .. import EOS, PAD, UNK, InputError
from ..config import TRANSLATION, Search, require_search
from ..model.attention import recorded
from ..model.class_names import only_known
from ..model.modes import evaluating
from ..model.transformer import Transformer
from .few_rows import for_few_rows
from .kv_cache import StepwiseDecoder, closed_ranks, continuations, likeliest
from .search import Hypothesis, length_penalty

__all__ = ["Allowed", "beam_search", "check_decoding", "greedy_search", "warn_of_decoding"]


def longest_output(
    model: Transformer,
    source: Tensor,     # (B, S)
    extra_length: int,
) -> Tensor:            # (B,) maximum number of tokens for each sentence, including EOS
    "Source length + `extra_length` (§6.1), limited by the model's positions."
    visible = model.visible(source if source.dim() > 1 else source[None])  # the model itself refuses a single row
    return (visible.flatten(1).sum(1) + extra_length).clamp(max=model.config.max_length)


def greedy_search(
    model: Transformer,
    source: Tensor,          # (B, S) ids
    search: Search = TRANSLATION,   # only its length matters
) -> list[list[int]]:        # per sentence, without PAD and EOS
    "Take the most probable token at each step."
    require_search(search)
    if not len(source):
        return []
    limits = longest_output(model, source, search.extra_length)
    out: list[list[int]] = [[] for _ in source]
    alive, tokens = torch.arange(len(source), device=source.device), torch.full((len(source), 1), PAD, device=source.device)
    with evaluating(model):
        decoder = StepwiseDecoder(for_few_rows(model), source, 1, int(limits.max()))
        for length in range(1, int(limits.max()) + 1):
            tokens = likeliest(decoder.logits(decoder.step(tokens)), 1)[1]    # (B', 1)
            going = tokens[:, 0] != EOS
            for i, token in zip(alive[going].tolist(), tokens[going, 0].tolist()):
                out[i].append(token)
            going &= limits[alive] > length
            if not going.any():
                break
            if not going.all():
                stay = closed_ranks(going)
                decoder.select(stay, torch.zeros_like(stay)[:, None])
                alive, tokens = alive[stay], tokens[stay]
    return [row[:limit] for row, limit in zip(out, limits.tolist())]  # a row of only padding may have a limit of 0


class Allowed(Protocol):
    "What a search may write, step by step: for example trees, or words from a list. `tree_search` has one."

    def ids(self, left: Tensor) -> Tensor:  # (B,) maximum number of tokens left, including EOS -> (B·K, m) ids, PAD if fewer
        "Which tokens may follow each of the hypotheses."

    def weigh(self, logits: Tensor) -> None:  # (B·K, V), changed in place
        "If several tokens amount to the same, move their probability to the one that may follow."

    def follow(self, sentences: Tensor, beams: Tensor, tokens: Tensor) -> None:  # (B'), (B', K), (B', K)
        "The search continues with these hypotheses: each extends a beam of its sentence by a token."


def beam_search(
    model: Transformer,
    source: Tensor,              # (B, S) ids
    search: Search = TRANSLATION,
    allowed: Allowed | None = None,   # the only tokens that may be written
    n_best: int = 1,                  # search until this many are known: no other hypothesis can end better
) -> list[list[Hypothesis]]:     # per sentence, best first, at most `beam_size`
    "Beam search as in the authors' code (§6.1): finished and unfinished hypotheses compete separately."
    require_search(search)
    if not len(source):
        return []
    K, alpha, device = search.beam_size, search.alpha, source.device
    limits = longest_output(model, source, search.extra_length)
    finished: list[list[Hypothesis]] = [[] for _ in source]
    alive = torch.arange(len(source), device=device)                               # (B',) sentences still searched
    history = source.new_empty(len(source), 1, 0, dtype=torch.long)                # (B', K, t) tokens so far
    log_p = torch.zeros(len(source), 1, device=device)                             # (B', K), but all start the same: one at first
    tokens = torch.full((len(source), 1), PAD, device=device)

    with evaluating(model):
        decoder = StepwiseDecoder(for_few_rows(model), source, K, int(limits.max()))
        for length in range(1, int(limits.max()) + 1):
            # At most K of 2K continuations end, so at least K go on. A single beam takes the most probable one: greedy search.
            logits = decoder.logits(decoder.step(tokens))                          # (B'·K, V)
            ids = allowed and allowed.ids(limits[alive] - length + 1)
            if allowed:
                allowed.weigh(logits)
            top, beam, token = continuations(logits, log_p, 2 * K if K > 1 else 1, ids)  # (B', 2K)
            del logits                                                             # so that the next ones reuse its memory
            ends = token == EOS
            penalty = length_penalty(length, alpha)
            for row, column in (ends & top.isfinite()).nonzero().tolist():
                p = float(top[row, column])
                ended = history[row, beam[row, column]].tolist()
                finished[int(alive[row])].append(Hypothesis(ended, p / penalty, p))

            log_p, going = top.masked_fill(ends, float("-inf")).topk(K)            # (B', K)
            beam, tokens = beam.gather(1, going), token.gather(1, going)
            history = history.gather(1, beam[:, :, None].expand(-1, -1, length - 1))
            history = torch.cat([history, tokens[:, :, None]], dim=-1)

            best_possible = (log_p[:, 0] / length_penalty(limits[alive], alpha)).tolist()  # no unfinished one can end better
            stay = torch.zeros(len(alive), dtype=torch.bool, device="cpu")  # regardless of the default device
            for row, (sentence, limit) in enumerate(zip(alive.tolist(), limits[alive].tolist())):
                done = finished[sentence] = sorted(finished[sentence], key=lambda hypothesis: -hypothesis.score)[:K]
                last = done[n_best - 1].score if len(done) >= n_best else float("-inf")
                if length < limit and not (done and last >= best_possible[row]):
                    stay[row] = True
                elif not done:
                    best = zip(history[row].tolist(), log_p[row].tolist())
                    finished[sentence] = [Hypothesis(h, p / penalty, p, False) for h, p in best if p != float("-inf")]
            if not stay.any():
                break
            stay = closed_ranks(stay).to(device)
            decoder.select(stay, beam[stay])
            alive, history, log_p, tokens = alive[stay], history[stay], log_p[stay], tokens[stay]
            if allowed:
                allowed.follow(stay, beam[stay], tokens)
    return [found if limit else [Hypothesis([], 0.0, 0.0, False)] for found, limit in zip(finished, limits.tolist())]


def check_decoding(model: Transformer) -> None:
    """For a model with your own parts: InputError if it decodes, or records its attention, differently from how it is trained.

    The test uses two sentences and up to three beams of six random tokens, which swap places. At each step the log-probabilities
    of the next token, by cached keys and values, must equal those of `model(source, target_input)` for that beam alone.
    """
    c, weight, draw = model.config, model.embedding.weight, torch.Generator().manual_seed(0)
    source = torch.tensor([[UNK, UNK, EOS, UNK, EOS], [UNK, EOS, PAD, PAD, PAD]], device=weight.device)[:, : c.max_length]
    sentences, written = torch.arange(2, device=weight.device), source.new_full((2, 1, 1), PAD)  # (2, K, t)
    of_products = {"highest": 0.0, "high": 2**-10, "medium": 2**-7}[torch.get_float32_matmul_precision()]
    close, steps = max(torch.finfo(weight.dtype).eps, of_products) ** 0.5, min(6, c.max_length)
    with evaluating(model), torch.autocast(weight.device.type, enabled=False):
        decoder = StepwiseDecoder(model, source, 3, steps)
        for step in range(1, steps + 1):
            found = decoder.logits(decoder.step(written[:, :, -1]))                                              # (2·K, V)
            expected = model(source.repeat_interleave(written.size(1), 0), written.flatten(0, 1))[:, -1]
            expected[:, PAD] = float("-inf")
            if not torch.allclose(found.log_softmax(1), expected.log_softmax(1), close, close):
                raise InputError(
                    f"{type(model).__name__} gives token {step} a different probability in decoding, one token at a time, "
                    "than in training: take positions from `start` (in `embed`) or `cache.position` (in an attention's "
                    "`project_self`), look at other tokens only in attention, and list a layer that runs twice in `layers` twice")
            beams = torch.randint(written.size(1), (2, 3), generator=draw).to(source)
            tokens = torch.randint(EOS, c.vocab_size, (2, 3, 1), generator=draw).to(source)
            decoder.select(sentences, beams)
            written = torch.cat([written[sentences[:, None], beams], tokens], dim=2)
        texts = source.repeat_interleave(3, 0), written.flatten(0, 1)[:, :-1]
        plain = model(*texts)
        try:
            with recorded(model, for_gradients=True):
                drawn = model(*texts)
        except InputError:  # with a mask of numbers, or inside another replacement, no weights can be recorded
            return
        if not torch.allclose(drawn.log_softmax(-1), plain.log_softmax(-1), close, close):
            raise InputError(f"{type(model).__name__} attends differently when its weights are drawn than in training: "
                             "override both `attend` and `attend_with_weights`, or neither")


def warn_of_decoding(model: Transformer) -> None:
    "Warn if a model with a part that is neither the package's nor PyTorch's fails `check_decoding`; others are not checked."
    if only_known(model):
        return
    try:
        check_decoding(model)
    except InputError as error:
        said = "%s; until then a search or a figure is not of the model that was trained (docs/your-own-parts.md)"
        logging.getLogger(__name__).warning(said, error)
    except Exception as error:  # the search itself may still work, with other tokens
        logging.getLogger(__name__).warning("%s: whether it decodes as it trains could not be checked (%s: %s)",
                                            type(model).__name__, type(error).__name__, error)

"How a run starts: its first weights, and what the leader does for all processes before the first update."
import dataclasses
import logging
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

import torch

from .. import UNK, InputError
from ..config import TrainingConfig, changed, require_plain
from ..data import corpora
from ..data.batching import Batch, collate
from ..data.large_corpora import TokenizedPairs
from ..data.tokenizer import Tokenizer
from ..data.treebanks import Treebank, require_signs
from ..model.transformer import Transformer
from ..model_record import read_record
from .checkpoints import clear_leftovers, forget_old, load_checkpoint, newest_checkpoint, only_one
from .devices import autocast, on_device
from .loading import LoadedModel, load
from .own import Own, mean_loss
from .processes import Group
from .runs import WRITTEN, Run, prepare, renamed

__all__ = ["begin", "load_start", "new_model", "prepared", "resume"]


def new_model(config: TrainingConfig, vocab_size: int, kind: type[Transformer] = Transformer) -> Transformer:
    "A model with the initial weights determined by seed and init_gain."
    torch.manual_seed(config.seed)
    with torch.device("cpu"):  # regardless of the user's default: a GPU draws other numbers
        model = kind(dataclasses.replace(config.model, vocab_size=vocab_size))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and weight.requires_grad and name.startswith(("encoder", "decoder")):
                weight *= config.init_gain
    return model


def load_start(config: TrainingConfig, kind: type[Transformer] = Transformer) -> LoadedModel:
    "The model that a run starts from (for a run, the mean of the checkpoints that it keeps); InputError if its sizes differ."
    start = load(config.start_from, model=kind)
    free = {"vocab_size", "dropout"} | (set() if any(True for _ in start.model.positions.parameters()) else {"max_length"})
    for name, there in dataclasses.asdict(start.model.config).items():
        here = getattr(config.model, name)
        if name not in free and here != there:
            raise InputError(f"--start-from {config.start_from}: {name} is {there!r} there and {here!r} here; they must agree")
    return start


LOOKED_AT = 20_000  # training pairs, spread from the first to the last, that are searched for unknown letters


def warn_of_unknown(
    config: TrainingConfig,
    tokenizer: Tokenizer,   # taken over from another model
    train: TokenizedPairs,
) -> None:
    "Warn if more than one training source or target in a hundred has letters that the vocabulary lacks."
    rows = range(0, len(train), max(1, len(train) // LOOKED_AT))
    for side, name, so in ((0, "sources", "read them all as one"), (1, "targets", "never write them")):
        share = sum(UNK in train[i][side] for i in rows) / len(rows)
        if share <= 0.01:
            continue
        count = Counter(letter for pair in islice(corpora.load(config.corpus).train, LOOKED_AT) for letter in pair[side])
        encode = tokenizer.encode_target if side else tokenizer.encode
        unknown = [letter for letter, _ in count.most_common() if UNK in encode(letter)]
        logging.getLogger(__name__).warning(
            "%.0f%% of the training %s have letters that the vocabulary of %s lacks (%s): the model will %s; train without "
            "--start-from, or from a model of this pair of languages", 100 * share, name, config.start_from,
            " ".join([*unknown[:8], *["..."] * (len(unknown) > 8)]), so,
        )


def warn_of_variants(config: TrainingConfig, tokenizer: Tokenizer, n: int) -> None:
    "Warn if the vocabulary writes more than one in a hundred targets of the user's texts in other letters (§5.1)."
    def written(text: str) -> str:
        return "".join(tokenizer.decode(tokenizer.encode_target(text)).split())

    def known(text: str) -> bool:
        return UNK not in tokenizer.encode_target(text)

    some = islice(corpora.load(config.corpus).train, 0, None, max(1, n // LOOKED_AT))
    targets = ["".join(target.split()) for _, target in some]
    changed = [text for text in targets if written(text) not in (text, "") and known(text)]
    if len(changed) <= 0.01 * len(targets):
        return
    count = Counter(letter for text in changed for letter in text)
    others = [f"{letter} as {new}" for letter, _ in count.most_common()
              if (new := written(letter)) not in (letter, "") and known(letter)]
    logging.getLogger(__name__).warning(
        "%.0f%% of the training targets have letters that the model will write in another form%s, and sacreBLEU counts these "
        "as wrong: if that form is as good, normalise all texts to Unicode's NFKC", 100 * len(changed) / len(targets),
        f" ({', '.join(others[:6])})" if others else "",
    )


def warn_of_long(longest: int, splits: Sequence[TokenizedPairs]) -> None:
    "Warn if pairs of the training or the validation split are too long for the model."
    left = [f"{pairs.left_out:,} of {len(pairs) + pairs.left_out:,} {name} pairs"
            for name, pairs in zip(("training", "validation"), splits) if pairs.left_out]
    if left:
        logging.getLogger(__name__).warning(
            "left out, with more than %s tokens on a side: %s; --max-length takes longer ones, and `score` refuses such a "
            "sentence", f"{longest:,}", " and ".join(left),
        )


def contents(directory: Path) -> set[Path] | None:
    "The contents of a directory; None if it does not exist."
    return set(directory.iterdir()) if directory.exists() else None


def undo(
    directory: Path,           # of a run
    before: set[Path] | None,  # its contents, before it was begun
) -> None:
    "Remove what a failed start has left, unless the run had begun before. Other files stay."
    if before is None:
        shutil.rmtree(directory, ignore_errors=True)
    elif directory / "config.json" not in before:
        for made in {directory / name for name in (*WRITTEN, "data", "tensorboard")} - before:  # no checkpoint
            shutil.rmtree(made, ignore_errors=True)
            with suppress(OSError):  # Windows keeps the lock, which is still held
                made.unlink(missing_ok=True)


def remove_empty(directory: Path) -> None:
    "Remove a directory if it is empty."
    with suppress(OSError):
        directory.rmdir()


def try_loss(config: TrainingConfig, vocab_size: int, train: TokenizedPairs, device: torch.device, own: Own) -> None:
    "InputError if a user's own loss fails on the first two pairs, with a new model that is then discarded."
    batch = Batch(*(ids.to(device) for ids in collate(train, range(min(2, len(train))))))
    model = new_model(config, vocab_size, own.model).to(device)
    try:
        with autocast(device.type, on_device(config.execution, device).precision):
            loss = mean_loss(own.loss(model, batch), batch.target, 1)
        loss.backward()
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"loss fails on the first two pairs ({type(error).__name__}: {error}): mend it") from error


def begin(
    config: TrainingConfig,
    run: Run,
    group: Group,
    stack: ExitStack,   # holds the lock on the run directory
    own: Own,
) -> None:
    "What the leader does for all before the first update. A mistake leaves nothing that would disturb the corrected command."
    if (kind := torch.get_default_dtype()) != torch.float32:  # its checkpoints could not be read back
        raise InputError(f"a run is trained in torch.float32, and PyTorch's default is {kind}: call torch.set_default_dtype")
    require_plain(config, config.model, config.execution)
    settings = own.require_fit(config)
    run.require_whole()
    if (place := corpora.directory_of(config.corpus)) and not run.exists() and place.resolve() == run.directory.resolve():
        raise InputError(f"{run} holds texts to train on, and a run needs a directory of its own: choose another --run")
    if (before := contents(run.directory)) is None:
        stack.callback(remove_empty, run.directory)  # after a mistake, since Windows keeps the lock until here
    run.directory.mkdir(parents=True, exist_ok=True)
    stack.enter_context(only_one(run.directory))
    try:
        run.open(config, group, own.names(), settings)
        if config.start_from and not run.has_tokenizer():
            start = load_start(config, own.model)
            if isinstance(corpus := corpora.load(config.corpus), Treebank):
                require_signs(start.tokenizer, corpus, config.start_from)
            run.note(licence=start.record.licence)
            run.keep_tokenizer(start.tokenizer)
        first = not run.has_data()
        tokenizer, *splits = prepare(config, run.directory)
        if first:
            warn_of_long(config.model.max_length, splits)
        if config.start_from and first:
            warn_of_unknown(config, tokenizer, splits[0])
        if first and place and read_record(run.directory).languages:  # trees have none
            warn_of_variants(config, tokenizer, len(splits[0]))
        longest = max(int(pairs.lengths.max()) for pairs in splits) if config.batch_tokens < config.model.max_length else 0
        if longest > config.batch_tokens:
            problem = f"a sentence of {longest} tokens does not fit into a batch of {config.batch_tokens}"
            raise InputError(f"{problem}: raise --batch-tokens")
        if own.loss is not None and group.size == 1 and not run.checkpoints():  # a loss that waits for other processes would hang
            try_loss(config, tokenizer.vocab_size, splits[0], group.device, own)
        clear_leftovers(run.directory, WRITTEN)
        newest_checkpoint(run.directory)  # moves damaged ones aside: from here on, all processes find the same one
        forget_old(run.directory, config.keep)  # a kill may have come between the last checkpoint and this
    except InputError:
        undo(run.directory, before)
        raise


def prepared(config: TrainingConfig, run: Run, group: Group, own: Own) -> tuple[Tokenizer, TokenizedPairs, TokenizedPairs]:
    """What the leader has prepared, as returned by `Run.prepared`. InputError if this process was started with other settings: it
    would take its share of another batch, and no number would look wrong."""
    if not run.exists():
        raise InputError(f"{run}: process {group.rank} does not see the run that the first began: put it on a file system that "
                         "all share")
    theirs, ours = (dataclasses.replace(one, execution=dataclasses.replace(one.execution, device=None))  # each has its own
                    for one in (run.config, config))
    if group.rank and (other := changed(theirs, ours, free=()) | renamed(run.own, own.names())):
        said = "; ".join(f"{name}={new!r}, and the first with {old!r}" for name, (old, new) in other.items())
        raise InputError(f"{run}: process {group.rank} was started with {said}: give all processes the same")
    return run.prepared()


def whole_state(
    state: dict,
    fresh: dict,       # a new state with everything that training counts
    directory: Path,   # of the checkpoint
) -> dict:
    "InputError if a checkpoint lacks a count."
    for name in fresh.keys() - state.keys():
        raise InputError(f"{directory / 'state.json'}: {name} is missing; use an earlier checkpoint")
    return state


def resume(
    config: TrainingConfig,
    run: Run,
    group: Group,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
) -> dict:  # the run's position
    "Load the newest checkpoint into model and optimizer; if there is none yet, the weights that the run starts from."
    state = dict.fromkeys(("step", "epoch", "batch", "source_tokens", "target_tokens", "seconds", "device_seconds"), 0)
    if found := group.together(run.checkpoints):  # `begin` made sure that the newest one is intact; only the leader hashed it
        state = group.together(lambda: whole_state(load_checkpoint(found[-1], model, optimizer), state, found[-1]))
    elif config.start_from:
        model.load_state_dict(group.together(lambda: load_start(config, type(model))).model.state_dict())
    highest, lowest = group.highest(state["step"], -state["step"])
    if highest != -lowest:
        raise InputError(f"{run}: not all processes see the same checkpoints; put the run on a file system that all share")
    return state

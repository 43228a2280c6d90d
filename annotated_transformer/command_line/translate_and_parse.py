"The commands `translate` and `parse`: filters that read standard input and write as many lines as they read."
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .. import InputError
from .options import AS_USUAL, SearchOptions
from ..model_record import record_of
from ..progress_bar import one_line
from ..threads import choose_threads
from .terminal import END_OF_INPUT, answer_lines, at_terminal, require_standard_input

if TYPE_CHECKING:
    from ..config import Search, TransformerConfig
    from ..translation.translator import Translator

__all__ = ["SHIPPED", "SHIPPED_PARSER", "Model", "open_translator", "parse_command", "translate"]

SHIPPED, SHIPPED_PARSER = "everyday-en-de", "parser-en"  # the models used if none is named
Model = Annotated[str, "MODEL"]


def open_translator(model: str, search: SearchOptions = AS_USUAL) -> "Translator":
    "Load a model as the options require."
    from ..training.runs import Run
    from ..translation.translator import Translator

    Run(model).require_checkpoints(search.average)
    choose_threads()  # packing weights is work too
    return Translator.from_pretrained(model, search.average, precision=search.precision)


def require_no_text(model: str, command: str) -> None:
    "InputError for a file instead of a model: whoever names it wants it translated."
    if Path(model).is_file():
        raise InputError(f"{model} is a file and no model: the text comes from standard input, as in annotated-transformer "
                         f"{command} < {model}")


def work_of_a_step(config: "TransformerConfig", search: "Search", sentences: int) -> int:
    "Multiply-adds that a search needs for the next token of all hypotheses: products of the decoder and the vocabulary."
    attention = 3 * config.d_model * config.n_heads * (config.d_k + config.d_v)  # four for self-attention, two over the memory
    layer = attention + 2 * config.d_model * config.d_ff
    return sentences * search.beam_size * (config.n_layers * layer + config.d_model * config.vocab_size)


def greeting(model: str) -> str:
    "Which model answers, what it is good at, and how to end."
    from ..training.runs import Run

    run = Run(model)
    knows = record_of(model).about or (f"trained on {run.config.corpus}" if run.exists() else "")
    return one_line(f"{', '.join(filter(None, [model, knows]))}. A sentence and Enter; {END_OF_INPUT}.")


def translate(model: Model = SHIPPED, split: bool = True, search: SearchOptions = AS_USUAL) -> None:
    """Translate standard input: one line out for each line in.

    Args:
        model: Directory of a run or of a model, a model that ships by name, OWNER/NAME on the Hugging Face
            hub, or a directory with a Marian model saved by Hugging Face's library.
        split: Translate a line of several sentences as one. Otherwise sentences are translated one by one;
            two short ones stay together.

    Example:
        echo "A girl reads." | annotated-transformer translate
        annotated-transformer translate runs/mine < sentences.txt > translations.txt
    """
    require_no_text(model, "translate")
    require_standard_input()
    from ..data.treebanks import writes_trees
    from ..translation.lines import cut_lines

    translator = open_translator(model, search)
    if writes_trees(translator.tokenizer):
        raise InputError(f"{model} writes trees, not sentences: `parse` makes them readable")
    settings = search.over(translator.search, translator.model.config.vocab_size)
    if at_terminal():
        print(greeting(model), file=sys.stderr)

    def require(lines: list[str]) -> None:
        cut_lines(lines, translator.tokenizer, translator.model.config.max_length, split, "line")

    def answer(lines: list[str], before: int) -> list[str]:
        choose_threads(work_of_a_step(translator.model.config, settings, len(lines)))
        found = translator.translations(lines, settings, split=split)
        for number, translation in enumerate(found, before + 1):
            if translation.doubtful:  # a person sees the line above
                print(f"line {number}: " * (not at_terminal()) + translation.warning, file=sys.stderr)
        return [translation.text for translation in found]

    answer_lines(answer, require)


def parse_command(
    model: Model = SHIPPED_PARSER,
    split_words: bool = False,
    least_confidence: float = 0.0,
    free: bool = False,
    search: SearchOptions = AS_USUAL,
) -> None:
    """Parse standard input: one sentence per line in, one bracketed tree per line out.
    Words are separated as in the treebank: do n't, Ann 's, can not, `` and '' for quotes, a space before each stop.

    Args:
        model: Directory of a run or of a model that was trained on a treebank, or a parser that ships by name.
        split_words: The input is running text, such as "I don't.": separate its words as the treebank does.
        least_confidence: If more than 0, write a blank line for each parse with a lower probability per token.
        free: As the paper did: let the model write anything, and repair what is not a tree.

    Example:
        pip install "annotated_transformer[parsing]"
        echo "Bob sees Eve ." | annotated-transformer parse
        echo "Bob doesn't see Eve." | annotated-transformer parse --split-words
        annotated-transformer parse runs/mine < sentences.txt > trees.mrg
    """
    if not 0 <= least_confidence <= 1:
        raise InputError(f"--least-confidence must be at least 0 and at most 1, not {least_confidence}")
    require_no_text(model, "parse")
    require_standard_input()
    from ..data import treebank_words
    from ..parsing.parser import PARSING, Parser
    from ..parsing.self_training import parse_lines, require_lines
    from ..training.runs import Run

    Run(model).require_checkpoints(search.average)
    choose_threads()
    parser = Parser.from_pretrained(model, search.average, precision=search.precision)
    settings = search.over(PARSING if free else parser.search, parser.translator.model.config.vocab_size)
    if at_terminal():
        print(greeting(model), file=sys.stderr)
    repaired: list[bool] = []
    warned = False

    def words(lines: list[str]) -> list[str]:
        return [" ".join(treebank_words.split_words(line)) for line in lines] if split_words else lines

    def answer(lines: list[str], before: int) -> list[str]:
        nonlocal warned
        choose_threads(work_of_a_step(parser.translator.model.config, settings, len(lines)))
        lines = words(lines)
        if not split_words and not warned and (joined := next(filter(None, map(treebank_words.joined_word, lines)), "")):
            print(f"{joined[:40]!r} is more than one word in a treebank, and parsed as one; --split-words splits such words",
                  file=sys.stderr)
            warned = True
        printed, parses = parse_lines(parser, lines, least_confidence, search=settings, free=free)
        repaired.extend(bool(parse.repairs) for parse in parses)
        return printed

    answer_lines(answer, lambda lines: require_lines(parser, words(lines)))
    if sum(repaired):
        print(f"{sum(repaired):,} of {len(repaired):,} outputs were not trees and had to be repaired", file=sys.stderr)

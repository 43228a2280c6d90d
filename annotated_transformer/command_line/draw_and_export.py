"The commands that write files for others: `attend` a picture or page of heads, `export` other software's files, `page` a site."
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from .. import InputError
from .terminal import as_typed, draw_into_files, may_be_interrupted
from .translate_and_parse import SHIPPED, Model, open_translator

if TYPE_CHECKING:
    from ..figures.attention_maps import AttentionMaps
    from ..translation.translator import Translator

__all__ = ["BY_RULE", "FORMS", "HeadOptions", "attend", "export", "page"]


PICTURES = (".svg", ".pdf", ".png")
FORMS = (*PICTURES, ".csv", ".html")


@dataclass(frozen=True)
class HeadOptions:
    """What is drawn of the heads.

    Args:
        figure: For a picture. 3: one word, all heads; 4 (default): one head in full, one word in two heads; 5: two heads side \
by side; heat: tables.
        kind: encoder (source to source; default in a picture), decoder (target to target) or encoder-decoder (target to source; \
default on a page).
        layer: Counted from 1; if not given, Figures 3 to 5 choose among all, and tables show the second to last. A page begins \
at the head that aligns best.
        heads: Counted from 1; chosen by rule if not given. A page begins at one head.
        word: The word of Figures 3 and 4; a pronoun (English, German or French), or the longest word, if not given.
        whole_words: Draw the pieces of words, as the model reads them.
        hide_end: Draw <eos> too, which many heads rest on; Figures 3 to 5 then choose from the second to last layer.
    """

    figure: Literal["3", "4", "5", "heat"] | None = None
    kind: Literal["encoder", "decoder", "encoder-decoder"] | None = None
    layer: int | None = None
    heads: tuple[int, ...] | None = None
    word: str | None = None
    whole_words: bool = True
    hide_end: bool = True

    @property
    def listed_heads(self) -> list[int] | None:
        "The heads as a list: two in a tuple might be one pair of layer and head."
        return self.heads and [*self.heads]

    def kind_for(self, out: Path) -> str:
        "The kind of attention, as named in `AttentionMaps`; by default the one for a picture or a page."
        return (self.kind or ("encoder-decoder" if is_page(out) else "encoder")).replace("-", "_")


BY_RULE = HeadOptions()  # nothing given


def attend(
    sentence: Annotated[str, "SENTENCE"],
    out: Path,
    model: str = SHIPPED,
    target: str | None = None,
    beside: str | None = None,
    drawn: HeadOptions = BY_RULE,
) -> None:
    """Draw what the heads look at while a sentence is translated.
    Any sentence, with any model that `translate` takes. For weights from elsewhere, in Python:
    plot_figure(AttentionMaps.from_tensors(source=words, encoder=weights), 4), or
    AttentionMaps.from_hugging_face(outputs, inputs, tokenizer).

    Args:
        sentence: The source, in quotation marks.
        out: File to write; .svg, .pdf and .png hold a picture, .html a page with all layers and heads to choose from, \
.csv one line per weight, including those of <eos>, of all layers and heads that the options do not exclude.
        model: Directory of a run or of a model, or a name as `translate` takes it.
        target: Translation that the decoder is made to write; the model's own if not given.
        beside: On a page: a second sentence, shown next to the first.

    Example:
        annotated-transformer attend "A girl reads." --figure heat --out heads.png
        annotated-transformer attend "A girl reads." --model runs/mine --no-hide-end --out heads.svg
    """
    require_form(out, beside, drawn)
    from ..files import require_place

    translator = open_translator(model)
    require_in_model(translator, {"source": sentence, "target": target}, beside, out, drawn)
    require_place(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    may_be_interrupted()
    maps, second = translator.attention(sentence, target), None if beside is None else translator.attention(beside)
    if is_page(out):
        save_page(out, maps, second, drawn)
    elif is_table(out):
        save_table(out, maps, drawn)
    else:
        save_picture(out, maps, drawn)
    if target is None:
        warn(translator, sentence)
    elif drawn.kind is None and not (is_page(out) or is_table(out)):
        print("The picture is of the encoder, which does not see the target: --kind encoder-decoder does.", file=sys.stderr)
    if beside is not None:
        warn(translator, beside, "second sentence: ")
    for text, one in ((sentence, maps), (beside, second)):
        if one:
            print(f"{text}\n{' '.join(one.words(signs_apart=False).target[:-1])}")
    print(out)


def warn(translator: "Translator", sentence: str, name: str = "") -> None:
    "If the model is unsure of its translation, say so on standard error, after the sentence's name."
    if warning := translator.translations([sentence])[0].warning:
        print(name + warning, file=sys.stderr)


def is_page(out: Path) -> bool:
    "Whether the file will be a page, not a picture."
    return out.suffix.lower() == ".html"


def is_table(out: Path) -> bool:
    "Whether the file will hold the weights as text."
    return out.suffix.lower() == ".csv"


def require_form(out: Path, beside: str | None, drawn: HeadOptions) -> None:
    "InputError if the file's name and the options do not fit together, or if nothing can be drawn here."
    if out.suffix.lower() not in FORMS or out.is_dir():
        raise InputError(f"--out {out}: give the name of a file that ends in {', '.join(FORMS[:-1])} or {FORMS[-1]}")
    if is_page(out) or is_table(out):
        for option, given in (("--figure", drawn.figure), ("--word", drawn.word)):
            if given is not None:
                ends = " or ".join(PICTURES)
                raise InputError(f"{option} applies to pictures: let --out {out} end in {ends}, or leave it out")
        if is_page(out) and drawn.heads is not None and len(drawn.heads) > 1:
            raise InputError(f"--heads: a page begins with one head and shows all: give one, not {len(drawn.heads)}")
    if drawn.word is not None and drawn.figure in ("5", "heat"):
        raise InputError(f"--word chooses the rows of Figures 3 and 4: leave it out with --figure {drawn.figure}")
    if beside is not None and not is_page(out):
        raise InputError(f"--beside shows a second sentence on a page: let --out {out} end in .html, or leave it out")


def require_in_model(
    translator: "Translator", sides: dict[str, str | None], beside: str | None, out: Path, drawn: HeadOptions,
) -> None:
    """InputError, before anything is translated, if a sentence is too long, if the second text is several sentences, or if there
    is no such layer, head or word."""
    from ..figures.attention_maps import sentence_ids, token_labels
    from ..figures.attention_plots import choose_heads
    from ..figures.token_labels import find, group_words, is_special

    model, tokenizer = translator.model, translator.tokenizer
    choose_heads(model.config.n_layers, model.config.n_heads, drawn.layer, drawn.listed_heads)
    ids = {side: sentence_ids(model, tokenizer, text, side) for side, text in (sides | {"second sentence": beside}).items()
           if text is not None}
    if beside is not None and (n := len(translator.sentences(beside))) > 1:  # --target belongs only to the first sentence
        raise InputError(f"--beside: the text is {n} sentences, and each is translated separately: give one")
    looking = ids.get("source" if drawn.kind_for(out) == "encoder" else "target")  # not known if the model still has to translate
    if drawn.word is not None and looking is not None:
        labels = token_labels(tokenizer, looking)
        if drawn.whole_words:  # as they are drawn
            labels, _ = group_words(labels, signs_apart=True)
        find([label for label in labels if not (drawn.hide_end and is_special(label))], drawn.word)


def save_page(out: Path, maps: "AttentionMaps", second: "AttentionMaps | None", drawn: HeadOptions) -> None:
    "A page on which one chooses layer and head; without a choice it begins where the explorer begins."
    from ..figures.attention_maps import explore
    from ..figures.attention_plots import choose_heads

    begins = None, None
    if drawn.layer is not None or drawn.heads is not None:
        begins = choose_heads(len(maps.encoder), maps.encoder.size(1), drawn.layer, drawn.listed_heads)[0]
    shown, beside = (one.words() if drawn.whole_words and one else one for one in (maps, second))
    if drawn.hide_end:
        shown, beside = (one and one.without_end() for one in (shown, beside))
    explore(shown, drawn.kind_for(out), *begins, whole_words=False).save(out, beside=beside)


def save_table(out: Path, maps: "AttentionMaps", drawn: HeadOptions) -> None:
    "Comma-separated: one line per weight of the kind, layer and heads that are named, or of all."
    import csv

    from ..files import write_file

    rows = [row for row in (maps.words() if drawn.whole_words else maps).table(drawn.kind and drawn.kind_for(out))
            if row["layer"] in (drawn.layer or row["layer"],) and row["head"] in (drawn.heads or (row["head"],))]

    def write(path: Path) -> None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, rows[0], lineterminator="\n")
            table.writeheader()
            table.writerows(row | {"weight": f"{row['weight']:.6f}"} for row in rows)

    write_file(out, write)


def save_picture(out: Path, maps: "AttentionMaps", drawn: HeadOptions) -> None:
    "One of the paper's figures, or tables of weights, in the form that the file's name asks for."
    from ..figures.attention_maps import plot_figure, plot_heat_maps, save_drawing

    draw_into_files()
    shown, kind = maps.words() if drawn.whole_words else maps, drawn.kind_for(out)
    if drawn.figure == "heat":
        picture = plot_heat_maps(shown, kind, drawn.layer, drawn.listed_heads, drawn.hide_end)
    else:
        number, chosen = int(drawn.figure or 4), (drawn.layer, drawn.listed_heads, drawn.word)
        picture = plot_figure(shown, number, kind, *chosen, drawn.whole_words, drawn.hide_end)
    save_drawing(picture, out)


def export(model: Model, to: Literal["marian", "ctranslate2", "onnx"], out: Path) -> None:
    """Write a model for other software: Marian, CTranslate2, ONNX.

    Args:
        model: Directory of a run or of a model, or a name as `translate` takes it.
        to: marian (also what CTranslate2's own converter reads), ctranslate2 or onnx.
        out: Directory to write.

    Example:
        pip install "annotated_transformer[exchange]"
        annotated-transformer export runs/mine --to ctranslate2 --out my-model
    """
    from ..files import new_directory

    new_directory(out)
    from ..exchange.ctranslate2 import to_ctranslate2
    from ..exchange.marian import save_marian
    from ..exchange.onnx import to_onnx
    from ..translation.translator import Translator

    may_be_interrupted()
    write = {"marian": save_marian, "ctranslate2": to_ctranslate2, "onnx": to_onnx}[to]
    write(Translator.from_pretrained(model, device="cpu"), out)
    print(f"{out}: {model} for {to}")


def page(directory: Annotated[Path, "DIRECTORY"], model: Model = SHIPPED) -> None:
    """Write a page that translates in the browser, for any static server.

    Args:
        directory: Directory to write: translate.html, and everything that it loads.
        model: Directory of a run or of a model, or a name as `translate` takes it.

    Example:
        pip install "annotated_transformer[exchange]"
        annotated-transformer page my-page
        python -m http.server --directory my-page
    """
    from ..files import new_directory

    new_directory(directory)
    from ..exchange.browser_page import PAGE, write_page
    from ..translation.translator import Translator

    may_be_interrupted()
    write_page(Translator.from_pretrained(model, device="cpu"), directory)
    serve = f"python -m http.server --directory {as_typed(directory)}"
    print(f"{directory}: {model} in a page. Next: {serve}, and open its {PAGE}")

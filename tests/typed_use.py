"""What a user writes, for a type checker alone: `tests/system/house/test_types.py` has mypy read it, strictly. Nobody runs it.

Each name of the package that is meant for users stands here once, with the type that its result must have.
"""
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from annotated_transformer import (
    EOS,
    AttentionMaps,
    InputError,
    Parser,
    Search,
    Transformer,
    TransformerConfig,
    Translator,
    explore,
    load,
    plot_figure,
    plot_heads,
    plot_heat_maps,
    save_drawing,
)
from annotated_transformer.config import PRESETS, TrainingConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.batching import Batch
from annotated_transformer.data.parallel_text import Corpus
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.data.trees import delinearize, linearize
from annotated_transformer.exchange.ctranslate2 import to_ctranslate2
from annotated_transformer.exchange.marian import from_marian, load_marian, to_marian
from annotated_transformer.exchange.onnx import to_onnx
from annotated_transformer.exchange.onnx_translator import OnnxTranslator
from annotated_transformer.figures.explorer import Explorer
from annotated_transformer.model.attention import MultiHeadAttention, scaled_dot_product_attention
from annotated_transformer.model.layers import Residual
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.training.averaging import average_checkpoints
from annotated_transformer.training.loading import LoadedModel
from annotated_transformer.training.loop import train
from annotated_transformer.training.optimizer import learning_rate
from annotated_transformer.training.own_tokenizer import AnyTokenizer
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.bleu import Bleu, paper_bleu, sacre_bleu
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.lines import Translation
from annotated_transformer.translation.search import Hypothesis


def translating(name: str, directory: Path) -> None:
    translator = assert_type(Translator.from_pretrained(name), Translator)
    assert_type(translator("A girl reads."), str)
    assert_type(translator(["A girl reads."], batch_tokens=512, split=False), list[str])
    assert_type(translator.translate("A girl reads.", Search(beam_size=2, alpha=0.6)), str)
    assert_type(translator.translate(["A girl reads."]), list[str])
    assert_type(translator.translations(["A girl reads."], split=False), list[Translation])
    assert_type(translator.n_best(["A girl reads."], 8), list[list[Translation]])
    assert_type(translator.log_probabilities(["A girl reads."], ["Ein Mädchen liest."]), list[float])
    assert_type(translator.token_log_probabilities(["A girl reads."], ["Ein Mädchen liest."]), list[list[float]])
    assert_type(translator.n_best(["A girl reads."])[0][0].score, float | None)
    assert_type(translator.push_to_hub("owner/name"), str)
    translator.save_pretrained(directory)
    maps = assert_type(translator.attention("A girl reads.", "Ein Mädchen liest."), AttentionMaps)
    assert_type(maps.words(signs_apart=False).source, list[str])
    assert_type(maps.encoder, Tensor)
    assert_type(explore(maps), Explorer).save("heads.html", beside=maps)
    plot_figure(maps, 3, hide_end=False).savefig("x.png")
    figure: Figure = plot_heads(maps, heads=[(1, 2)])
    save_drawing(figure, directory / "heads.pdf")
    assert_type(plot_heat_maps(maps.words(), ax=figure.gca()), Figure | Any)
    assert_type(maps.without_end().kinds["decoder"].title, str)
    assert_type(AttentionMaps.from_tensors(source=["a"], encoder=maps.encoder), AttentionMaps)
    assert_type(AttentionMaps.from_hugging_face(object(), ["a"]), AttentionMaps)
    assert_type(AttentionMaps(["a"], ["a"], ["a"], encoder=maps.encoder).decoder, Tensor)
    load(name)
    assert_type(translator.model, Transformer)
    loaded = assert_type(load(name), LoadedModel)
    assert_type(loaded.model, Transformer)
    assert_type(loaded.tokenizer, AnyTokenizer)
    assert_type(loaded.search, Search)
    assert_type(loaded.record.corpus, str | None)


def of_any_form(translator: Translator, sentences: tuple[str, ...], lines: Iterator[str], either: str | list[str]) -> None:
    assert_type(translator.translate(sentences), list[str])
    assert_type(translator(lines), list[str])
    assert_type(translator(either), str | list[str])
    assert_type(translator.translate(either, split=False), str | list[str])
    assert_type(translator.translations(sentences), list[Translation])
    assert_type(translator.log_probabilities(sentences, lines), list[float])


def by_graphs(directory: Path, sentences: tuple[str, ...], either: str | list[str]) -> None:
    graphs = OnnxTranslator(directory, threads=1)
    assert_type(graphs.translate("A girl reads."), str)
    assert_type(graphs.translate(["A girl reads."], Search(beam_size=2)), list[str])
    assert_type(graphs.translate(sentences), list[str])
    assert_type(graphs.translate(either), str | list[str])


def modelling(config: TransformerConfig, source: Tensor, target: Tensor, allowed: Tensor, directory: Path) -> None:
    assert_type(TransformerConfig.base(37_000), TransformerConfig)
    model = assert_type(Transformer.from_pretrained(directory), Transformer)
    assert_type(Transformer(config).encode(source), Tensor)
    assert_type(greedy_search(model, source), list[list[int]])
    hypotheses = assert_type(beam_search(model, source, Search(beam_size=4)), list[list[Hypothesis]])
    assert_type(hypotheses[0][0].score, float)
    assert_type(hypotheses[0][0].tokens, list[int])
    assert_type(scaled_dot_product_attention(source, source, source, allowed), tuple[Tensor, Tensor])
    assert_type(MultiHeadAttention(512, 8, 64, 64), MultiHeadAttention)
    assert_type(learning_rate(4_000, 512), float)
    assert_type(label_smoothed_cross_entropy(source, target, 0.1), Tensor)
    assert_type(average_checkpoints([directory]), dict[str, Tensor])
    torch.save(EOS, directory)


def measuring(text: list[str]) -> None:
    corpus = corpora.load("numbers-en-de")
    assert_type(corpus, Corpus)
    assert_type(corpus.validation, list[tuple[str, str]])
    assert_type(sacre_bleu(text, text).score, float)
    assert_type(paper_bleu(text, text, language="de"), Bleu)
    assert_type(Tokenizer.load("tokenizer.model").encode("A girl reads."), list[int])


class Own(Transformer):
    def residual(self, sublayer: nn.Module) -> Residual:
        part = Residual(sublayer, self.config.d_model, self.config.dropout)
        part.norm = nn.RMSNorm(self.config.d_model)
        return part


def own_loss(model: Own, batch: Batch) -> Tensor:
    return batch.target.float()


def own_watch(line: dict[str, Any], model: Own) -> bool:
    return bool(line["step"] > 5)


def own_optimizer(weights: list[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(weights)


def training(directory: Path) -> None:
    config = assert_type(PRESETS["tiny"], TrainingConfig)
    try:
        own = train(config, directory, model=Own, optimizer=torch.optim.AdamW, rate=lambda step: 0.1, watch=lambda line: True)
        assert_type(own, Own)
        assert_type(train(config, directory), Transformer)
        assert_type(train(config, directory, model=Own, optimizer=own_optimizer, loss=own_loss, watch=own_watch), Own)
        train(config, directory, watch=lambda line, model: model.training, loss=lambda model, batch: batch.target.float())
        assert_type(load(directory, model=Own).model, Own)
        assert_type(Translator.from_pretrained(directory, model=Own), Translator)
        assert_type(Own.from_pretrained(directory), Own)
    except InputError as mistake:
        print(mistake)
    assert_type(Run(directory).config, TrainingConfig)


class OwnParser(Parser):
    "Has nothing of its own."


def elsewhere(model: Transformer, directory: Path) -> None:
    assert_type(OwnParser.from_pretrained(directory), OwnParser)
    parser = assert_type(Parser.from_pretrained(directory), Parser)
    parses = parser.parse([["Bob", "sees", "Eve", "."]])
    assert_type(parses[0].repairs, Counter[str])
    trees = [parse.tree for parse in parses]
    print(trees[0].leaves())
    assert_type(bracket_scores(trees, trees).f1, float)
    loaded = load(directory)
    assert_type(from_marian(to_marian(loaded.model, loaded.tokenizer)[0])[0], Transformer)
    assert_type(load_marian(directory), Translator)
    to_ctranslate2(model, directory)
    to_onnx(model, directory)
    for tree in trees:
        assert_type(linearize(tree), list[str])
        delinearize(linearize(tree), ["Bob"])

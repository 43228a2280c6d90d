"What researchers make of the model: settings, parts and stacks of their own, through all that a model goes through here."
import copy
import dataclasses
from dataclasses import replace

import pytest
import torch
from torch import nn

from annotated_transformer import InputError, Transformer, TransformerConfig, Translator, load
from annotated_transformer.config import Execution, TrainingConfig
from annotated_transformer.exchange.ctranslate2 import to_ctranslate2
from annotated_transformer.exchange.marian import to_marian
from annotated_transformer.figures.head_changes import KINDS, every_head, without_heads
from annotated_transformer.model.attention import MultiHeadAttention
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.layers import Decoder, Encoder
from annotated_transformer.training.loading import save
from annotated_transformer.training.loop import train
from annotated_transformer.translation.fast_search import check_decoding
from annotated_transformer.translation.kv_cache import PreallocatedCache
from annotated_transformer.translation.search import next_token_without_cache, readable_beam_search

SIZES = TransformerConfig(14, n_layers=2, d_model=8, d_ff=12, n_heads=2, dropout=0.1, max_length=30)


@dataclasses.dataclass(frozen=True)
class OwnConfig(TransformerConfig):
    scale: float = 1.0


class OwnTraining(TrainingConfig):
    "No field more, and yet not what would be read."


class OwnExecution(Execution):
    pass


class Scaled(Transformer):
    scale = 3.0

    def embed(self, ids, start=0):
        return self.scale * super().embed(ids, start)


@pytest.fixture
def config(config):
    return replace(config, model=SIZES, steps=4)


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([[5, 6, 7, 1]]), torch.tensor([[0, 4, 5, 8]])


def test_settings_of_ones_own_are_refused_before_anything_is_written(config, tmp_path):
    own = OwnConfig(**dataclasses.asdict(SIZES), scale=3.0)
    for wrong, said in (
        (replace(config, model=own), "OwnConfig is a class of your own, and config.json holds only what TransformerC.* has"),
        (OwnTraining(**vars(config)), "OwnTraining is a class of your own, and config.json holds only what TrainingConfig has"),
        (replace(config, execution=OwnExecution()), "OwnExecution is .* Execution has"),
    ):
        with pytest.raises(InputError, match=f"{said}: make a setting of your own an attribute of your model's class"):
            train(wrong, tmp_path / "run", model=Scaled)
    with pytest.raises(InputError, match="OwnConfig is a class of your own"):
        Scaled(own).save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "run").exists() and not (tmp_path / "saved").exists()


def test_a_setting_of_ones_own_is_an_attribute_of_the_class(config, tmp_path):
    trained = train(config, tmp_path / "run", model=Scaled)
    found = load(tmp_path / "run", 1, model=Scaled).model
    logits = found(*pair())
    assert torch.equal(logits, trained(*pair())) and not torch.equal(logits, plain(found)(*pair()))


def plain(model: Transformer) -> Transformer:
    "The paper's model with the same weights."
    found = Transformer(model.config)
    found.load_state_dict(model.state_dict())
    return found.eval()


class Gelu(FeedForward):
    def forward(self, x):
        return self.outer(nn.functional.gelu(self.inner(x)))


class Lora(nn.Linear):
    "A matrix that stays, and a product of two small ones that learns."

    def __init__(self, linear: nn.Linear):
        super().__init__(linear.in_features, linear.out_features, linear.bias is not None)
        self.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(2, linear.in_features) * 0.02)
        self.b = nn.Parameter(torch.zeros(linear.out_features, 2))

    def forward(self, x):
        return super().forward(x) + x @ self.a.T @ self.b.T


def with_gelu(model):
    model.decoder.layers[1].feed_forward.sublayer = Gelu(SIZES.d_model, SIZES.d_ff)
    return "decoder.layers.1.feed_forward.sublayer is Gelu, and Transformer.config. makes FeedForward"


def with_adapter(model):
    attention = model.encoder.layers[0].self_attention.sublayer
    attention.out_projection = Lora(attention.out_projection)
    return "encoder.layers.0.self_attention.sublayer.out_projection is Lora, and Transformer.config. makes Linear"


def without_a_layer(model):
    model.encoder.layers = model.encoder.layers[:1]
    return "encoder.layers.1 is nothing, and Transformer.config. makes EncoderLayer"


def parametrized(model):
    nn.utils.parametrizations.weight_norm(model.encoder.layers[1].feed_forward.sublayer.inner)
    return "encoder.layers.1.feed_forward.sublayer.inner is ParametrizedLinear, and Transformer.config. makes Linear"


def with_more_tokens(model):
    model.embedding.weight = nn.Parameter(torch.cat([model.embedding.weight, torch.ones(3, 8)]))
    return r"embedding.weight is \(17, 8\), and Transformer.config. makes \(14, 8\)"


@pytest.mark.parametrize("change", [with_gelu, with_adapter, without_a_layer, parametrized, with_more_tokens])
def test_a_model_whose_parts_were_exchanged_is_written_nowhere(change, tmp_path):
    model = Transformer(SIZES)
    said = change(model)
    writes = [model.save_pretrained, lambda place: to_ctranslate2(model, place), lambda place: to_marian(model)]
    for write, module in zip(writes, ("torch", "ctranslate2", "transformers")):
        pytest.importorskip(module)
        with pytest.raises(InputError, match=f"{said}, so a file is read as that: let a class of your own make it"):
            write(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_what_only_drops_numbers_out_may_be_exchanged(tmp_path):
    model = Transformer(SIZES).eval()
    model.dropout, model.encoder.layers[0].feed_forward.dropout = nn.Dropout(0.3), nn.Identity()
    model.save_pretrained(tmp_path / "saved")
    found = Transformer.from_pretrained(tmp_path / "saved").state_dict()
    assert all(torch.equal(found[name], weight) for name, weight in model.state_dict().items())
    model.decoder.layers[0].feed_forward.norm = nn.Identity()
    with pytest.raises(InputError, match="decoder.layers.0.feed_forward.norm is nothing, and .* makes LayerNorm"):
        model.save_pretrained(tmp_path / "other")


def test_a_class_of_the_same_name_is_named_in_full(tmp_path):
    model = Transformer(SIZES)
    model.encoder.layers[0].feed_forward.sublayer = type("FeedForward", (Gelu,), {})(SIZES.d_model, SIZES.d_ff)
    with pytest.raises(InputError, match=r"is .*FeedForward, and Transformer.config. makes annotated_transformer.*:FeedForward"):
        model.save_pretrained(tmp_path / "saved")


def made_here(base):
    class Made(base):
        pass
    return Made


class Making(Transformer):
    "A class is made for each part; a number is asked of a tensor, as the meta device cannot."

    def __init__(self, config, rate=0.5):
        super().__init__(config)
        self.rates = [rate * float(number) for number in torch.linspace(0, 1, config.n_layers)]

    def feed_forward(self):
        return made_here(FeedForward)(self.config.d_model, self.config.d_ff)


class Asking(Transformer):
    def __init__(self, config, depth):
        super().__init__(config)


@pytest.mark.parametrize("parts", [("post", "sinusoidal", "dot-product"), ("pre", "learned", "additive")])
def test_a_model_as_its_class_makes_it_is_saved_whatever_it_is(parts, tmp_path):
    norm, positions, compatibility = parts
    before = torch.random.get_rng_state()
    for kind in (Transformer, Scaled, Making):
        torch.random.set_rng_state(before)
        model = kind(replace(SIZES, n_layers=11, norm=norm, positions=positions, compatibility=compatibility)).half()
        drawn = torch.random.get_rng_state()
        model.save_pretrained(tmp_path / kind.__name__)
        assert torch.equal(torch.random.get_rng_state(), drawn)
        found = kind.from_pretrained(tmp_path / kind.__name__)
        assert all(torch.equal(weight, model.state_dict()[name].float()) for name, weight in found.state_dict().items())
    with pytest.raises(InputError, match=r"Asking\(config\) reads what is saved, and cannot be called .*'depth'.*: give each"):
        Asking(SIZES, 3).save_pretrained(tmp_path / "asking")


class Shallow(Transformer):
    "One encoder layer, three decoder layers, as its settings do not say."

    def __init__(self, config):
        super().__init__(replace(config, n_layers=3))
        self.config = config
        self.encoder.layers = self.encoder.layers[:1]


class UnequalHeads(Transformer):
    "The second of its layers has four heads."

    def __init__(self, config):
        super().__init__(config)
        self.encoder.layers[1].self_attention.sublayer = MultiHeadAttention(config.d_model, 4, config.d_k, config.d_v)


class NoAttention(Transformer):
    "Its encoder has a layer that attends to nothing."

    def __init__(self, config):
        super().__init__(config)
        self.encoder.layers[0].self_attention.sublayer = Unmixed()


class Unmixed(nn.Module):
    def forward(self, x, allowed=None):
        return x


def test_maps_and_heads_are_counted_in_the_stacks_themselves():
    model = Shallow(SIZES)
    for source, target in (pair(), (torch.tensor([[5, 6, 1]]), pair()[1])):
        maps = model.attention_maps(source, target)
        assert (len(maps.encoder), len(maps.decoder), len(maps.encoder_decoder)) == (1, 3, 3)
        assert maps.encoder.triu(1).any() and not maps.decoder.triu(1).any(), "the encoder alone looks ahead"
        assert maps.encoder_decoder.shape[-2:] == (target.size(1), source.size(1))
    assert [len(every_head(model, kind)) for kind in KINDS] == [2, 6, 6]
    with without_heads(model, {"encoder": [(1, 2)], "decoder": [(3, 1)]}):
        model(*pair())
    tokenizer = load("numbers-en-de").tokenizer
    assert "1 + 3 layers" in repr(Translator(Shallow(replace(SIZES, vocab_size=tokenizer.vocab_size)), tokenizer))


@pytest.mark.parametrize("kind", [UnequalHeads, NoAttention])
def test_maps_that_cannot_be_named_are_refused(kind):
    with pytest.raises(InputError, match="maps are for models with one MultiHeadAttention in each encoder layer"):
        kind(SIZES).attention_maps(*pair())


class RunAgain:
    "A stack that holds one layer and runs it several times."

    def __init__(self, layer, times, norm):
        nn.Module.__init__(self)
        self.one, self.times, self.norm = layer, times, norm

    @property
    def layers(self):
        return [self.one] * self.times


class EncoderAgain(RunAgain, Encoder):
    pass


class DecoderAgain(RunAgain, Decoder):
    pass


class Universal(Transformer):
    "One layer of each kind, run `n_layers` times."

    def __init__(self, config):
        super().__init__(replace(config, n_layers=1))
        self.config = config
        self.encoder = EncoderAgain(self.encoder.layers[0], config.n_layers, self.encoder.norm)
        self.decoder = DecoderAgain(self.decoder.layers[0], config.n_layers, self.decoder.norm)


class Twice(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.encoder.layers = nn.ModuleList([self.encoder.layers[0]] * config.n_layers)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_layer_that_is_run_several_times_goes_through_everything(norm, config, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    config = replace(config, model=replace(SIZES, n_layers=3, norm=norm))
    with pytest.raises(InputError, match=r"Twice has one parameter under two names.* let a property `layers` give one"):
        train(config, tmp_path / "run", model=Twice)
    train(replace(config, steps=2), tmp_path / "run", model=Universal)
    trained = train(config, tmp_path / "run", model=Universal)
    once = Transformer(replace(trained.config, n_layers=1))
    assert sum(map(torch.numel, trained.parameters())) == sum(map(torch.numel, once.parameters()))
    check_decoding(trained)
    maps = trained.attention_maps(*pair())
    assert len(maps.encoder) == len(maps.decoder) == 3 and not torch.equal(maps.encoder[0], maps.encoder[1])

    translator = Translator.from_pretrained(tmp_path / "run", 1, model=Universal)
    assert "3 + 3 layers" in repr(translator) and torch.equal(translator.model(*pair()), trained(*pair()))
    ids = translator.tokenizer.encode("abc")
    slow = readable_beam_search(next_token_without_cache(trained, torch.tensor(ids)), 4, 0.6, len(ids) + 5)[0].tokens
    found = translator.translate_ids(["abc"], replace(translator.search, extra_length=5))[0]
    assert found == [token for token in slow if token > 1]
    translator.save_pretrained(tmp_path / "saved")
    for precision in ("float32", "float16", "int8"):
        again = Translator.from_pretrained(tmp_path / "saved", model=Universal, precision=precision)
        assert torch.equal(again.model(*pair()), trained(*pair())) and again.translate(["abc"])


class WithLora(Transformer):
    "Small matrices beside those of the feed-forward networks; nothing else learns."

    def __init__(self, config):
        super().__init__(config)
        self.requires_grad_(False)
        for layer in [*self.encoder.layers, *self.decoder.layers]:
            layer.feed_forward.sublayer.inner = Lora(layer.feed_forward.sublayer.inner)


def test_a_class_with_more_weights_starts_from_what_was_saved_of_it(config, tmp_path):
    train(config, tmp_path / "plain")
    loaded = load(tmp_path / "plain")
    save(tmp_path / "model", loaded.model, loaded.tokenizer, loaded.search)
    for place in ("plain", "model"):
        start = replace(config, start_from=str(tmp_path / place), steps=2)
        with pytest.raises(InputError, match=r"has weights that these lack, first '.*inner\.a': give these to load_state_dict"):
            train(start, tmp_path / "run", model=WithLora)
    assert not (tmp_path / "run").exists()
    model = WithLora(loaded.model.config)
    model.load_state_dict(loaded.model.state_dict(), strict=False)
    save(tmp_path / "start", model, loaded.tokenizer, loaded.search)
    start = replace(config, start_from=str(tmp_path / "start"), steps=3)
    trained = train(start, tmp_path / "run", model=WithLora)
    for name, weight in trained.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name]) == (not name.endswith((".a", ".b"))), name
    for precision in ("float32", "int8", "float16"):
        found = Translator.from_pretrained(tmp_path / "run", 1, model=WithLora, precision=precision)
        assert torch.equal(found.model(*pair()), trained(*pair())) and isinstance(found.translate("abc"), str)


class Transposing(MultiHeadAttention):
    def project_self(self, x, cache=None):
        query, both = (x @ self.in_projection.T).split([self.widths[0], sum(self.widths[1:])], -1)
        return self.cut(query), both


class Multiplying(Transposing):
    def project_self(self, x, cache=None):
        query, both = torch.matmul(x, self.in_projection).split([self.widths[0], sum(self.widths[1:])], -1)
        return self.cut(query), both


class Linear(Transposing):
    def project_self(self, x, cache=None):
        query, both = nn.functional.linear(x, self.in_projection).split([self.widths[0], sum(self.widths[1:])], -1)
        return self.cut(query), both


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_weight_of_few_bits_says_what_it_can(precision):
    loaded = load("numbers-en-de")
    c = loaded.model.config

    def translator(attention, precision):
        class Own(Transformer):
            def attention(self):
                return attention(c.d_model, c.n_heads, c.d_k, c.d_v)

        model = Own(c).eval()
        model.load_state_dict(loaded.model.state_dict())
        return Translator(model, loaded.tokenizer, precision=precision)

    assert translator(Linear, precision)("seven") == translator(Transposing, "float32")("seven") == "sieben"
    for attention, name in ((Transposing, "T"), (Multiplying, "matmul")):
        with pytest.raises(InputError, match=rf"only multiplies, by F.linear\(x, matrix\), and knows no {name}: call F.linear"):
            translator(attention, precision)("seven")
    weight = translator(Linear, precision).searched.encoder.layers[0].self_attention.sublayer.in_projection
    with pytest.raises(AttributeError, match="knows no other"):
        _ = weight.other
    assert not hasattr(weight, "shape") and getattr(weight, "dtype", None) is None
    copy.copy(weight)


def test_a_causal_mask_over_kept_keys_is_refused():
    torch.manual_seed(0)
    attention, x = MultiHeadAttention(8, 2, 3, 5), torch.randn(1, 3, 8)
    cache = PreallocatedCache(attention, torch.empty(1, 4, sum(attention.widths[1:])), grows=True)
    with torch.inference_mode():
        torch.testing.assert_close(attention(x[:, :2], causal=True, cache=cache), attention(x, causal=True)[:, :2])
        with pytest.raises(InputError, match="as many queries as keys, not 1 and 3"):  # which saw the first key alone
            attention(x[:, 2:], causal=True, cache=cache)

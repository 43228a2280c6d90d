"A preset, a run or a model decides the defaults of the other options."
import dataclasses
import re
from pathlib import Path

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line.options import SearchOptions, Train, Variations, read_options
from annotated_transformer.config import PRESETS, Execution, TrainingConfig, TransformerConfig
from annotated_transformer.parsing.parser import PARSING
from annotated_transformer.training.runs import Run


def test_preset_decides_the_defaults_and_options_change_them():
    options = read_options(Train, ["--seed", "7", "--preset", "base", "--warmup-steps=800"])
    assert options.config == dataclasses.replace(PRESETS["base"], seed=7, warmup_steps=800)
    assert options.run == Path("runs/wmt14-en-de-base")
    options = read_options(Train, "--preset big-en-fr --device-tokens 4096 --precision float32".split())
    execution = Execution(device_tokens=4096, precision="float32")
    assert options.config == dataclasses.replace(PRESETS["big-en-fr"], execution=execution)
    assert options.run == Path("runs/wmt14-en-fr-big")


def test_a_run_that_exists_decides_the_defaults(tmp_path):
    saved = dataclasses.replace(PRESETS["demo"], model=dataclasses.replace(PRESETS["demo"].model, d_k=24, n_layers=3), seed=5)
    Run(tmp_path).open(saved)
    options = read_options(Train, given := ["--run", str(tmp_path)])
    assert (options.config, options.run) == (saved, tmp_path)
    assert read_options(Train, [*given, "--steps", "9"]).config == dataclasses.replace(saved, steps=9)
    assert read_options(Train, [*given, "--preset", "demo"]).config == PRESETS["demo"]


def test_width_of_a_head_follows_d_model_and_n_heads_unless_given():
    for options, d_k, d_v in [("--n-heads 16", 32, 32), ("--d-model 1024 --d-k 16", 16, 128), ("--d_k=None --d-v=48", 64, 48)]:
        model = read_options(Train, ["--preset", "base", *options.split()]).config.model
        assert (model.d_k, model.d_v) == (d_k, d_v)


def test_every_field_of_the_configuration_is_an_option_of_its_name(capsys):
    with pytest.raises(SystemExit) as end:
        read_options(Train, ["--help-all"])
    assert not end.value.code
    shown = capsys.readouterr().out
    options = set(re.findall(r"^  (--[a-z-]+)", shown, re.MULTILINE)) | {"--run-directory"}
    fields = {field.name for part in (TrainingConfig, TransformerConfig, Execution) for field in dataclasses.fields(part)}
    assert options == {
        "--help", "--help-all", "--preset", "--run", "--run-directory", "--profile",
        *("--" + name.replace("_", "-") for name in fields - {"model", "execution"})
    }
    assert "[25000]" in shown or "[4096]" in shown  # the defaults of the preset
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("  annotated"))


def test_any_mistake_in_the_options_is_one_sentence():
    mistakes = {"--steps 0": "steps", "--stpes 5": "--steps", "--d-ff x": "--d-ff", "--seed": "--seed", "--n-heads 3": "n_heads=3"}
    for options, named in mistakes.items():
        with pytest.raises(InputError, match=named) as refused:
            read_options(Train, options.split())
        assert not set("\n─│") & set(str(refused.value))


def test_variations_read_their_options_like_train():
    options = read_options(Variations, "--n-heads 2 --steps 70 --rows A1 pre-norm --seeds 4 5".split())
    assert (options.rows, options.seeds) == (("A1", "pre-norm"), (4, 5))
    assert options.run == Path("runs/multi30k-en-de-miniature-variations")
    model = dataclasses.replace(PRESETS["miniature"].model, n_heads=2, d_k=64, d_v=64)
    assert options.config == dataclasses.replace(PRESETS["miniature"], model=model, steps=70)


def test_an_option_of_a_search_that_is_given_replaces_the_default():
    assert SearchOptions().over(PARSING, 48) == PARSING
    assert SearchOptions(alpha=0.0, average=3).over(PARSING, 48) == dataclasses.replace(PARSING, alpha=0.0)
    for wrong, said in (({"beam_size": 0}, "--beam-size must be at least 1, not 0"), ({"alpha": -1.0}, "--alpha must be at least 0"),
                        ({"average": 0}, "--average must be at least 1"), ({"alpha": 1e308}, "--alpha must be at most 100"),
                        ({"beam_size": 10**20}, "--beam-size must be at most"),
                        ({"alpha": float("nan")}, "--alpha must be at least 0"),
                        ({"extra_length": 10**20}, "--extra-length must be at most")):
        with pytest.raises(InputError, match=said):
            SearchOptions(**wrong)
    assert SearchOptions(beam_size=8).over(PARSING, 8).beam_size == 8
    with pytest.raises(InputError, match="beam size must be at most 8"):  # no more hypotheses than the model has tokens
        SearchOptions(beam_size=9).over(PARSING, 8)


def test_a_trace_is_of_one_update_at_least():
    assert read_options(Train, ["--profile", "3"]).profile == 3 and read_options(Train, []).profile is None
    with pytest.raises(InputError, match="^--profile must be at least 1, not 0$"):
        read_options(Train, ["--profile", "0"])

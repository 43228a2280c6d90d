"Details of checkpoints that no page tells: each was changed by hand without a test that noticed. Names begin with the module's."
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from annotated_transformer import InputError
from annotated_transformer.training.checkpoints import (
    FILES,
    MEANS,
    checkpoint_directories,
    clear_leftovers,
    load_checkpoint,
    newest_checkpoint,
    require_room,
    save_checkpoint,
)
from annotated_transformer.training.runs import WRITTEN


def trained(rate=0.01):
    "A small layer after one update, and its Adam."
    torch.manual_seed(0)
    model = nn.Linear(2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return model, optimizer


def steps(run):
    return [int(path.name[5:]) for path in checkpoint_directories(run)]


def test_checkpoints_are_whole_directories_in_the_order_of_their_steps(tmp_path):
    for step in (30, 4, 200):  # the last one to be written is not the last step
        save_checkpoint(tmp_path, *trained(), {"step": step}, keep=5)
    place = tmp_path / "checkpoints"
    for name in ("step-00000050.1a2b3c4d.tmp", "damaged-step-00000060", "step-7", "step-00000070-old"):
        (place / name).mkdir()
    (place / "step-00000080").write_text("no directory")
    os.utime(place / "step-00000004", (2e9, 2e9))
    assert steps(tmp_path) == [4, 30, 200]


@pytest.mark.parametrize("keep, left", [(1, [5]), (3, [3, 4, 5]), (4, [2, 3, 4, 5]), (5, [1, 2, 3, 4, 5]), (9, [1, 2, 3, 4, 5])])
def test_checkpoints_are_kept_as_many_as_is_said(tmp_path, keep, left):
    for step in range(1, 6):
        save_checkpoint(tmp_path, *trained(), {"step": step}, keep)
    assert steps(tmp_path) == left


def test_checkpoints_of_one_step_give_way_to_the_newer_one(tmp_path):
    model, optimizer = trained()
    save_checkpoint(tmp_path, model, optimizer, {"step": 3, "epoch": 1}, keep=2, regular=False)
    nn.init.constant_(model.weight, 7.0)
    saved = save_checkpoint(tmp_path, model, optimizer, {"step": 3, "epoch": 2}, keep=2)
    again, other = trained()
    assert load_checkpoint(saved, again, other) == {"step": 3, "epoch": 2, "regular": True} and (again.weight == 7).all()


def test_checkpoints_are_cleared_of_what_a_kill_left_and_of_nothing_else(tmp_path):
    save_checkpoint(tmp_path, *trained(), {"step": 3}, keep=2)
    place, end = tmp_path / "checkpoints", ".1a2b3c4d.tmp"  # as files.write_file calls what is unfinished
    (place / f"step-00000006{end}").mkdir()
    (place / f"step-00000006{end}" / "state.json").touch()
    for own in (f"mine{end}", "step-best.tmp", "step-00000006.tmp"):
        (place / own).mkdir()
    own = [tmp_path / "notes.tmp", tmp_path / f"notes.txt{end}", *(tmp_path / name for name in WRITTEN)]
    for path in [*own, *(tmp_path / f"{name}{end}" for name in WRITTEN)]:
        path.touch()
    clear_leftovers(tmp_path, WRITTEN)
    assert sorted(tmp_path.iterdir()) == sorted([place, *own])
    assert sorted(path.name for path in place.iterdir()) == [f"mine{end}", "step-00000003", "step-00000006.tmp", "step-best.tmp"]


@pytest.mark.parametrize("name", FILES)
def test_checkpoints_are_whole_when_each_of_their_files_is(tmp_path, name):
    for step in (1, 2):
        newest = save_checkpoint(tmp_path, *trained(), {"step": step}, keep=2)
    content = bytearray((newest / name).read_bytes())
    content[-3] ^= 1
    (newest / name).write_bytes(content)
    assert newest_checkpoint(tmp_path).name == "step-00000001"


@pytest.mark.parametrize("key, value", [
    ("weight.exp_avg", torch.zeros(3)), ("bias.exp_avg_sq", torch.zeros(2)), ("bias.step", torch.ones(1)),
    ("weight.exp_avg", torch.zeros(3, 2, dtype=torch.float16)), ("weight.exp_avg_sq", torch.zeros(3, 2, dtype=torch.float64)),
    ("weight.step", torch.tensor(1.0, dtype=torch.float64)), ("bias.exp_avg_sq", None), ("more.step", torch.tensor(1.0)),
])
def test_checkpoints_of_means_that_adam_cannot_use_are_refused(tmp_path, key, value):
    model, optimizer = trained()
    saved = save_checkpoint(tmp_path, model, optimizer, {"step": 3}, keep=2)
    means = {name: mean for name, mean in (load_file(saved / MEANS) | {key: value}).items() if mean is not None}
    save_file(means, saved / MEANS)
    with pytest.raises(InputError, match=MEANS):
        load_checkpoint(saved, model, optimizer)


def test_checkpoints_bring_the_means_and_leave_the_rate_to_the_optimizer(tmp_path):
    saved = save_checkpoint(tmp_path, *trained(rate=0.01), {"step": 3}, keep=2)
    model = nn.Linear(2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    load_checkpoint(saved, model, optimizer)
    assert optimizer.param_groups[0]["lr"] == 0.5 and optimizer.state[model.weight]["step"] == 1
    assert model.weight.equal(trained()[0].weight)


def test_checkpoints_of_half_as_wide_numbers_need_half_the_room(tmp_path, monkeypatch):
    model = nn.Linear(512, 512, bias=False)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=2 * 3 * 2 * 512 * 512))
    require_room(tmp_path, model.half(), keep=1)
    with pytest.raises(InputError, match="need 6 MiB more and the disk has 3 MiB free"):
        require_room(tmp_path, model.float(), keep=1)


def test_checkpoints_of_a_frozen_weight_have_no_means_of_it(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(2, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # the frozen one stands in its groups, too
    model.bias.requires_grad_(False)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    load_checkpoint(save_checkpoint(tmp_path, model, optimizer, {"step": 1}, keep=1), model, optimizer)
    assert set(optimizer.state) == {model.weight}


def test_checkpoints_are_found_in_their_order_also_where_a_step_has_more_than_eight_digits(tmp_path):
    for step in (99_999_998, 99_999_999, 100_000_000, 2**31 + 7):
        save_checkpoint(tmp_path, *trained(), {"step": step}, keep=2)
    assert steps(tmp_path) == [100_000_000, 2**31 + 7]
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["step-100000000", "step-2147483655"], "no older one stays"
    assert newest_checkpoint(tmp_path).name == "step-2147483655"
    (tmp_path / "checkpoints" / "step-00000003-copy").mkdir()  # somebody's own
    assert steps(tmp_path) == [100_000_000, 2**31 + 7]

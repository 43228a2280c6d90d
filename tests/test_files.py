"Files and directories are there whole or not at all, and nothing else in the package renames."
import ast
import errno
import os
import re
import stat
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from annotated_transformer import InputError
from annotated_transformer import files as written
from annotated_transformer.data.large_corpora import NumberFile
from annotated_transformer.files import (
    UNFINISHED,
    damage,
    finish,
    leftovers,
    move_directory,
    opened,
    read_sums,
    write_directory,
    write_file,
    write_into,
    write_sums,
    write_text_file,
)
from annotated_transformer.model.weights import model_directory

PACKAGE = Path(__file__).parents[1] / "annotated_transformer"
FULL = [(OSError, 28, "No space left on device"), (OSError, "the disk is full"), (SafetensorError, "no room"), (KeyboardInterrupt,)]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def files(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.rglob("*") if path.is_file()}


def breaks_off(error):
    def write(beside: Path) -> None:
        (beside / "half" if beside.is_dir() else beside).write_text("ne")
        raise error[0](*error[1:])

    return write


def test_a_text_is_the_same_bytes_on_any_system(tmp_path):
    write_text_file(tmp_path / "notes.txt", "grün\nblau\r\n")
    assert (tmp_path / "notes.txt").read_bytes() == b"gr\xc3\xbcn\nblau\r\n"


@pytest.mark.parametrize("error", FULL)
def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path, error):
    path = tmp_path / "notes.txt"
    write_file(path, lambda beside: beside.write_text("old"))
    with pytest.raises(BaseException) as caught:
        write_file(path, breaks_off(error))
    assert files(tmp_path) == {"notes.txt": "old"}
    assert caught.type is KeyboardInterrupt or caught.type is OSError and f"{error[-1]}: '{path}'" in str(caught.value)


@pytest.mark.parametrize("error", FULL)
def test_a_directory_that_cannot_be_written_is_not_there(tmp_path, error):
    with pytest.raises(BaseException) as caught:
        write_directory(tmp_path / "model", breaks_off(error))
    assert names(tmp_path) == []
    assert caught.type is KeyboardInterrupt or f"{error[-1]}: '{tmp_path / 'model'}'" in str(caught.value)


class Kill(BaseException):
    "The process is gone: what would clean up does nothing, either."


def killed_at(monkeypatch, step: int) -> None:
    "From the step of this number on, no directory changes any more."
    taken = iter(range(step))

    def one(act):
        def acted(*args, **kwargs):
            if next(taken, None) is None:
                raise Kill
            return act(*args, **kwargs)
        return acted

    for owner, name in ((Path, "rename"), (Path, "replace"), (Path, "rmdir"), (Path, "mkdir"), (Path, "unlink"), (Path, "chmod"),
                        (written.shutil, "rmtree")):
        monkeypatch.setattr(owner, name, one(getattr(owner, name)))


OLD, NEW = ({name: f"{age} {name}" for name in (*"abc", "SHA256SUMS")} for age in ("old", "new"))


def writes(contents: dict[str, str]):
    return lambda beside: [(beside / name).write_text(text) for name, text in contents.items()]


def test_a_kill_at_any_step_leaves_the_old_files_or_the_new(tmp_path, monkeypatch):
    found = []
    for step in range(100):
        path = tmp_path / str(step)
        write_into(path, writes(OLD | {"README.md": "a card"}))
        (path / "README.md").write_text("mine")
        (path / "notes").write_text("mine, too")
        with monkeypatch.context() as patched:
            killed_at(patched, step)
            try:
                write_into(path, writes(NEW | {"README.md": "a card"}), kept=["README.md"])
            except Kill:
                found.append("old")
            else:
                found.append("all")
        model_directory(path)  # as each that loads a model does
        now = {name: (path / name).read_text() for name in OLD}
        assert now in (OLD, NEW), f"step {step}"
        found[-1] = "new" if found[-1] == "old" and now == NEW else found[-1]
        assert [(path / name).read_text() for name in ("README.md", "notes")] == ["mine", "mine, too"]
        assert not (path / UNFINISHED).exists()
        if found[-1] == "all":
            break
    assert found == sorted(found, key=["old", "new", "all"].index) and min(map(found.count, ("old", "new"))) >= 4
    write_into(path, writes(OLD), kept=["README.md"])
    assert files(path) == OLD | {"README.md": "mine", "notes": "mine, too"}


def test_a_kill_is_mended_where_the_directory_is_next_written(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_into(path, writes(OLD))
    with monkeypatch.context() as patched, pytest.raises(Kill):
        patched.setattr(written, "finish", lambda path: (_ for _ in ()).throw(Kill) if (path / UNFINISHED).exists() else None)
        write_into(path, writes(NEW))
    assert {name: (path / name).read_text() for name in OLD} == OLD and files(path / UNFINISHED) == NEW
    write_into(path, writes({"a": "newest"}))
    assert files(path) == NEW | {"a": "newest"} and names(path) == sorted(NEW)


def test_two_that_write_at_once_leave_the_files_of_one(tmp_path, monkeypatch):
    path, rename = tmp_path / "model", Path.rename
    write_into(path, writes(OLD))

    def meanwhile(self, to):  # another process has just decided
        if to.name == UNFINISHED and not (path / "seen").exists():
            (path / "seen").touch()
            to.mkdir()
            writes({name: "another" for name in OLD})(to)
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", meanwhile)
    write_into(path, writes(NEW))
    assert files(path) == NEW | {"seen": ""} and not (path / UNFINISHED).exists()


def unfinished(path: Path, contents: dict[str, str]) -> None:
    "What a process leaves that was killed once it had decided."
    (path / UNFINISHED).mkdir()
    writes(contents)(path / UNFINISHED)


def before_look(monkeypatch, number: int, act) -> None:
    "Another process acts just before a directory is listed (1), or is to be removed (2), for the first time."
    name, look = {1: ("iterdir", Path.iterdir), 2: ("rmdir", Path.rmdir)}[number]
    acts = iter([act])

    def looked(self):
        if self.name == UNFINISHED:
            next(acts, lambda: None)()
        return look(self)

    monkeypatch.setattr(Path, name, looked)


def test_another_process_may_be_through_first(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_into(path, writes(OLD))
    unfinished(path, NEW)
    before_look(monkeypatch, 1, lambda: finish(path))
    assert files(model_directory(path)) == NEW and not (path / UNFINISHED).exists()


def test_another_process_may_decide_on_its_own_files_meanwhile(tmp_path, monkeypatch):
    path, newest = tmp_path / "model", {name: "newest" for name in (*OLD, "one more")}

    def another_decides() -> None:
        (path / UNFINISHED).rmdir()
        unfinished(path, newest)

    write_into(path, writes(OLD))
    before_look(monkeypatch, 2, another_decides)
    write_into(path, writes(NEW))
    assert files(path) == newest and not (path / UNFINISHED).exists()


def test_of_two_that_make_a_directory_at_once_neither_fails(tmp_path):
    path = tmp_path / "model"

    def meanwhile(beside: Path) -> None:
        writes(NEW)(beside)
        if not path.exists():
            write_into(path, writes(OLD | {"notes": "another's"}))

    write_into(path, meanwhile)
    assert files(path) == NEW | {"notes": "another's"} and names(tmp_path) == ["model"]


def test_checksums_are_moved_first_and_config_json_before_the_weights(tmp_path, monkeypatch):
    path, moves = tmp_path / "model", []
    write_into(path, writes(OLD))
    unfinished(path, dict.fromkeys(("model.safetensors", "config.json", written.SUMS, "A-part.json"), "new"))
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: moves.append(self.name) or replace(self, to))
    finish(path)  # one who loads a model compares the first, or else config.json, before and after
    assert moves == [written.SUMS, "A-part.json", "config.json", "model.safetensors"]


def test_who_may_only_read_waits_for_the_one_that_saves(tmp_path, monkeypatch):
    path, waits = tmp_path / "model", []
    write_into(path, writes(OLD))
    unfinished(path, NEW)

    def denied(self, to):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    def meanwhile(seconds):
        waits.append(seconds)
        with monkeypatch.context() as other:
            other.setattr(Path, "replace", replace)
            finish(path)

    replace = Path.replace
    monkeypatch.setattr(Path, "replace", denied)
    monkeypatch.setattr("time.sleep", meanwhile)
    assert files(model_directory(path)) == NEW and waits
    unfinished(path, OLD)
    monkeypatch.setattr("time.sleep", waits.append)  # nobody saves: it was broken off
    with pytest.raises(InputError, match="writing it was broken off, and cannot be finished here .Permission denied"):
        model_directory(path)
    assert sum(waits) < 3


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_what_cannot_be_finished_is_told(tmp_path):
    path = tmp_path / "model"
    write_into(path, writes(OLD))
    unfinished(path, NEW)
    path.chmod(0o555)
    try:
        with pytest.raises(InputError, match=f"{re.escape(str(path))}: writing it was broken off, and cannot be finished here .*: move the files"):
            model_directory(path)
    finally:
        path.chmod(0o755)
    finish(path)
    assert files(path) == NEW


def test_what_stands_in_the_way_of_finishing_is_told(tmp_path):
    path = tmp_path / "model"
    (path / "a").mkdir(parents=True)  # where a file is to come
    unfinished(path, NEW)
    here, there = re.escape(str(path)), re.escape(str(path / UNFINISHED))
    with pytest.raises(InputError, match=f"{here}: writing it was broken off.*move the files of {there} into {here}, in"):
        model_directory(path)
    (path / "a").rmdir()
    assert files(model_directory(path)) == NEW


@pytest.mark.skipif(os.name != "posix", reason="elsewhere not everybody may make a link")
def test_a_link_in_place_of_what_is_unfinished_moves_nobodys_files(tmp_path):
    path, precious = tmp_path / "model", tmp_path / "precious"
    write_into(path, writes(OLD))
    write_into(precious, writes(NEW))
    (path / UNFINISHED).symlink_to(precious, target_is_directory=True)
    with pytest.raises(InputError, match=f"{re.escape(str(path))}: {UNFINISHED} in it is a link, .*: remove it"):
        model_directory(path)
    with pytest.raises(OSError, match=f"{UNFINISHED} in it is a link, .*: remove it"):
        write_into(path, writes({"a": "newest"}))
    assert files(precious) == NEW and {name: (path / name).read_text() for name in OLD} == OLD and len(names(path)) == len(OLD) + 1
    (path / UNFINISHED).unlink()
    assert files(model_directory(path)) == OLD


@pytest.mark.skipif(os.name != "posix", reason="elsewhere no directory is synced")
def test_the_disk_has_what_is_new_before_it_takes_its_name_and_the_name_before_all_is_said_to_be_written(tmp_path, monkeypatch):
    seen, still_open = [], set()
    fsync, close, rename, replace = os.fsync, os.close, Path.rename, Path.replace

    def named(path: Path) -> str:
        "A name beside is told by what it is beside."
        return ".".join(path.name.split(".")[:-2]) if path.name.endswith(".tmp") else path.name

    def synced(handle: int) -> None:
        there = (path for path in (tmp_path, *tmp_path.rglob("*")) if os.path.samestat(path.stat(), os.fstat(handle)))
        seen.append(named(next(there)))
        still_open.add(handle)
        fsync(handle)

    def moves(act):
        def moved(self, to):
            seen.append(f"-> {Path(to).name}")
            return act(self, to)
        return moved

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "close", lambda handle: (still_open.discard(handle), close(handle)))
    monkeypatch.setattr(Path, "rename", moves(rename))
    monkeypatch.setattr(Path, "replace", moves(replace))
    write_file(tmp_path / "notes", lambda beside: beside.write_text("a"))
    assert seen == ["notes", "-> notes", tmp_path.name]
    seen.clear()
    write_directory(tmp_path / "model", lambda beside: [(beside / "in").mkdir(), (beside / "in" / "a").touch()])
    assert sorted(seen[:3]) == ["a", "in", "model"] and seen[2:] == ["model", "-> model", tmp_path.name]
    seen.clear()
    write_into(tmp_path / "model", writes({"b": "new", "c": "new"}))
    assert sorted(seen[:2]) == ["b", "c"] and seen[2:] == ["new", f"-> {UNFINISHED}", "model", "-> b", "-> c", "model"]
    assert not still_open


def test_what_the_user_calls_tmp_is_never_touched(tmp_path):
    (tmp_path / "out.tmp").write_text("mine")
    (tmp_path / "model.tmp").mkdir()
    (tmp_path / "model.tmp" / "notes").write_text("mine too")
    write_file(tmp_path / "out", lambda beside: beside.write_text("ours"))
    write_directory(tmp_path / "model", lambda beside: (beside / "weights").write_text("ours too"))
    assert files(tmp_path) == {"out.tmp": "mine", "notes": "mine too", "out": "ours", "weights": "ours too"}


def test_a_directory_that_is_there_stays_and_the_error_names_it(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine").write_text("mine")
    with pytest.raises(OSError) as caught:
        write_directory(tmp_path / "model", lambda beside: (beside / "weights").write_text("ours"))
    assert str(caught.value).endswith(f"'{tmp_path / 'model'}'") and ".tmp" not in str(caught.value)
    assert files(tmp_path) == {"mine": "mine"} and names(tmp_path) == ["model"]


def test_an_error_about_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.model"):
        write_directory(tmp_path / "model", lambda beside: (tmp_path / "missing.model").read_bytes())


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_rights_are_those_that_the_umask_gives(tmp_path):
    def for_the_owner_alone(beside: Path) -> None:
        beside.write_text("weights")
        beside.chmod(0o600)

    before = os.umask(0o027)
    try:
        write_file(tmp_path / "weights", for_the_owner_alone)
        write_directory(tmp_path / "model", lambda beside: (beside / "weights").write_text("weights"))
    finally:
        os.umask(before)
    rights = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert rights == {"weights": 0o640, "model": 0o750}


@pytest.mark.skipif(os.name != "posix", reason="elsewhere not everybody may make a link")
@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_stays_and_the_file_that_it_names_is_written(tmp_path, there):
    (tmp_path / "disk").mkdir()
    place, link = tmp_path / "disk" / "scores.json", tmp_path / "scores.json"
    if there:
        place.write_text("old")
    link.symlink_to(Path("disk", "scores.json"))
    write_file(link, lambda path: path.write_text("new"))
    assert link.is_symlink() and place.read_text() == "new" and sorted(tmp_path.rglob("*")) == [place.parent, place, link]


def test_leftovers_of_a_kill_are_told_from_the_users_files(tmp_path):
    for name in ("model.0123abcd.tmp", "model.tmp", "model.mine.tmp", "other.0123abcd.tmp", "model.0123abcd.tmp.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in leftovers(tmp_path, "model")] == ["model.0123abcd.tmp"]
    assert sorted(path.name for path in leftovers(tmp_path)) == ["model.0123abcd.tmp", "other.0123abcd.tmp"]


def test_a_directory_moves_in_place_of_another(tmp_path):
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text(name)
    move_directory(tmp_path / "new", tmp_path / "old")
    assert names(tmp_path) == ["old"] and files(tmp_path) == {"new": "new"}


def test_sums_tell_what_is_damaged(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    assert "SHA256SUMS is missing" in damage(tmp_path, ["a"])
    write_sums(tmp_path, ["a", "b"])
    assert damage(tmp_path, ["a", "b"]) is None and set(read_sums(tmp_path)) == {"a", "b"}
    (tmp_path / "b").write_text("c")
    (tmp_path / "a").unlink()
    assert damage(tmp_path, ["b", "a"]) == f"{tmp_path / 'b'} is damaged (its checksum is wrong)"
    assert damage(tmp_path, ["a"]) == f"{tmp_path / 'a'} is missing"


def test_a_name_that_no_file_can_have_is_damage_and_no_error(tmp_path):
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  {'a' * 300}\n")
    assert "cannot be read" in damage(tmp_path, read_sums(tmp_path))


def renames(call: ast.Call) -> bool:
    "Path.rename, Path.replace, os.rename, os.replace, os.renames, shutil.move; not str.replace, not dataclasses.replace."
    name, owner = call.func.attr, getattr(call.func.value, "id", None)
    alone = len(call.args) == 1 and not call.keywords
    return name in ("rename", "renames") or name == "move" and owner == "shutil" or name == "replace" and (owner == "os" or alone)


def test_nothing_else_in_the_package_renames():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert path.name == "files.py" or not renames(node), f"{path}, line {node.lineno}: use annotated_transformer.files"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere no directory is synced")
def test_a_file_system_that_syncs_no_directory_keeps_files_all_the_same(tmp_path, monkeypatch):
    sync = os.fsync

    def files_alone(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", files_alone)
    write_file(tmp_path / "kept", lambda path: path.write_text("kept"))
    assert (tmp_path / "kept").read_text() == "kept"


class OnWindows:
    "`os` as it is there, as far as files.py asks; whoever waits lets the scanner go on."
    name = "nt"

    def __getattr__(self, name):
        return getattr(os, name)


def held_for(monkeypatch, tries: int) -> list[float]:
    "A virus scanner has whatever is to be moved open, so many times; the seconds that are waited."
    left, waited = [tries], []

    def one(move):
        def moved(*args):
            if left[0]:
                left[0] -= 1
                raise PermissionError(errno.EACCES, "Access is denied", str(args[0]))
            left[0] = tries
            return move(*args)
        return moved

    for name in ("rename", "replace"):
        monkeypatch.setattr(Path, name, one(getattr(Path, name)))
    monkeypatch.setattr(written, "os", OnWindows())
    monkeypatch.setattr(written.time, "sleep", waited.append)
    return waited


def test_on_windows_what_a_scanner_has_open_is_moved_as_soon_as_it_lets_go(tmp_path, monkeypatch):
    waited = held_for(monkeypatch, 3)
    write_text_file(tmp_path / "notes.txt", "new")
    write_directory(tmp_path / "model", writes(OLD))
    write_into(tmp_path / "model", writes(NEW))
    move_directory(tmp_path / "model", tmp_path / "moved")
    assert files(tmp_path) == NEW | {"notes.txt": "new"} and names(tmp_path) == ["moved", "notes.txt"]
    assert 0 < sum(waited[:3]) < sum(written.WAITS) <= 1


def test_what_nobody_may_move_is_told_after_a_second_at_most(tmp_path, monkeypatch):
    waited = held_for(monkeypatch, 100)
    with pytest.raises(PermissionError, match="Access is denied"):
        write_text_file(tmp_path / "notes.txt", "new")
    assert names(tmp_path) == [] and waited == [*written.WAITS]


def test_what_is_read_on_windows_may_be_removed_meanwhile(tmp_path, monkeypatch):
    asked = []

    def create(path, access, share, security, creation, *rest):
        asked.append((Path(path).name, share))
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, "The system cannot find the file specified")  # which names none
        return os.open(path, os.O_RDONLY)

    windows = types.SimpleNamespace(GENERIC_READ=2**31, OPEN_EXISTING=3, NULL=0, CreateFile=create)
    monkeypatch.setitem(sys.modules, "_winapi", windows)
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(open_osfhandle=lambda handle, flags: handle))
    monkeypatch.setattr(written, "os", OnWindows())
    (tmp_path / "numbers").write_bytes(b"\1\0\2\0")
    numbers = NumberFile(tmp_path / "numbers", np.dtype(np.uint16), 2)
    assert numbers.read(0, 2).tolist() == [1, 2]
    assert asked == [("numbers", 1 | 2 | 4)], "that is, to be read, written and removed by others"
    with pytest.raises(FileNotFoundError, match="cannot find the file specified: '.*gone'"):
        opened(tmp_path / "gone")

"""Files and directories that are written completely or not at all, and checksums that show whether they are still intact.

Nothing else in the package renames files. nbs/training/checkpoints.ipynb explains why writing to a temporary name and then
renaming survives a kill and a power cut.
"""
import codecs
import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError

from . import InputError

__all__ = ["SUMS", "damage", "directory_name", "finish", "leftovers", "move_directory", "named", "new_directory", "opened",
           "read_sums", "regular", "remove_directory", "renew_sums", "require_place", "sha256", "sync", "what_it_is",
           "write_directory", "write_file", "write_into", "write_sums", "write_text_file"]

SUMS = "SHA256SUMS"  # in the format of `sha256sum -c`
UNFINISHED = "unfinished-save"  # in a directory: complete new files that are about to be moved up into it
TAKEN = (errno.EEXIST, errno.ENOTEMPTY)  # how systems report that a directory is not empty
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)  # how they report that one may only read
AGAIN = ": copy it again with its directory, or remove it to do without checksums"


def regular(path: Path) -> Path:
    "The path of a file. OSError for a pipe or a device: we read files more than once, and a pipe may keep us waiting forever."
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "this is a pipe or a device, not a file", str(path))
    return path


def shared(path: Path, flags: int) -> int:
    "A file descriptor that lets others move or remove the file meanwhile: on Windows whoever opens it must allow that."
    import _winapi
    import msvcrt

    reads_writes_removes, how = 1 | 2 | 4, (_winapi.OPEN_EXISTING, 0, _winapi.NULL)
    try:
        handle = _winapi.CreateFile(os.fspath(path), _winapi.GENERIC_READ, reads_writes_removes, _winapi.NULL, *how)
    except OSError as error:
        error.filename = str(path)  # the error has none
        raise
    return msvcrt.open_osfhandle(handle, flags)


def opened(path: Path, buffering: int = -1) -> BinaryIO:
    "Open a file for reading while others may replace it; used for every file. OSError for a pipe or a device."
    return open(regular(path), "rb", buffering, opener=shared if os.name == "nt" else None)


def what_it_is(beginning: bytes) -> str | None:
    "What a file that is not UTF-8 text is, judged by its first bytes, and what to do. None if they do not tell."
    if beginning.startswith(b"\x1f\x8b"):
        return "is compressed by gzip: unpack it, as by gunzip -c"
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "is UTF-16: convert it, as by iconv -f UTF-16 -t UTF-8"
    if b"\0" in beginning[:2]:  # half of a 16-bit letter: read as UTF-8, each letter would come with a zero character
        order = "BE" if beginning.startswith(b"\0") else "LE"
        return f"is UTF-16 without a byte-order mark: convert it, as by iconv -f UTF-16{order} -t UTF-8"
    return None


def named(path: str | Path) -> Path:
    """A path that a user gives, with ~ as the home directory: no shell expands it in Python or after an equals sign.
    InputError for an empty path, which would mean the working directory."""
    if not str(path) or isinstance(path, str) and not path.strip():
        raise InputError("the name of the directory is empty: give one; . is the working directory")
    return Path(os.path.expanduser(path))


def directory_name(directory: str | Path) -> str:
    "The name of a directory; bytes that are not valid UTF-8 become replacement characters, which can be written anywhere."
    return os.fsencode(Path(directory).resolve().name).decode(errors="replace")


def new_directory(path: str | Path) -> Path:
    "The path of a directory to be made; InputError if it exists already."
    if (path := named(path)).exists():
        raise InputError(f"{path} already exists: choose another name, or remove it first")
    return path


def sync(path: Path) -> None:
    "Wait until a file or a directory is on the disk. A rename survives a power cut only once its directory is synced."
    if path.is_dir() and os.name != "posix":  # other systems cannot open a directory
        return
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if not path.is_dir() or error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot sync directories
            raise
    finally:
        os.close(handle)


def fresh(path: Path) -> Path:
    "A name next to `path` that nobody else uses: a file that the user calls OUT.tmp belongs to the user."
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")


def leftovers(directory: Path, name: str = "*") -> Iterator[Path]:
    "What a kill left behind while files or directories of this name were being written or removed."
    pattern = re.compile(r".*\.[0-9a-f]{8}\.tmp", re.DOTALL)
    return (path for path in directory.glob(f"{name}.*.tmp") if pattern.fullmatch(path.name))


def write_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file with `write`, which gets the path of an empty temporary file: `path` is the old file or the new, never a part.

    Its permissions follow the umask; a symbolic link stays a link, and the file that it points to is written. OSError names
    `path`; a failure leaves nothing behind.
    """
    place = Path(os.path.realpath(regular(path)))
    with one_name(path, beside := fresh(place)):
        beside.touch(exist_ok=False)
        try:
            mode = beside.stat().st_mode  # safetensors lets only the owner read its files
            write(beside)
            beside.chmod(mode)
            sync(beside)
            moved(beside.replace, place)
        finally:
            beside.unlink(missing_ok=True)
        sync(place.parent)


def write_text_file(path: Path, text: str) -> None:
    "Write a text as `write_file` does: in UTF-8, with lines ending in \\n on any system."
    write_file(path, lambda beside: beside.write_text(text, encoding="utf-8", newline="\n"))


def write_directory(path: Path, write: Callable[[Path], object]) -> None:
    """Make a directory with `write`, which gets the path of an empty temporary one: `path` is there completely or not at all.

    Its parent directories are made too. OSError names `path`, or the file that `write` was about to read; it is also raised
    if `path` exists and is not empty.
    """
    with one_name(path, beside := fresh(path)):
        above = path.absolute().parents
        made = [directory for directory in above if not directory.exists()]
        beside.mkdir(parents=True)
        try:
            fill(beside, write)
            moved(beside.rename, path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        for directory in above[: len(made) + 1]:  # a new directory survives only if its parent was synced
            sync(directory)


def fill(beside: Path, write: Callable[[Path], object]) -> None:
    "Let `write` make the files of a new directory, and wait for the disk; their permissions follow the umask."
    write(beside)
    mode = beside.stat().st_mode & 0o666  # files that other software writes may be readable only by the owner
    for part in [*beside.rglob("*"), beside]:
        if part.is_file():
            part.chmod(mode)
        sync(part)


def write_into(path: Path, write: Callable[[Path], object], kept: Iterable[str] = ()) -> None:
    """The same for files of a directory that may exist and may hold others: all files are the old ones or all are the new ones,
    even after a kill or a power cut. Files with one of the `kept` names stay as they are.

    A single rename decides: it gives the complete new files the name UNFINISHED. Before it the old files count, after it the
    new ones: `finish` moves them up, here or, after a kill, when the directory is next read or written.
    """
    if not path.is_dir():
        try:
            return write_directory(path, write)
        except OSError as error:
            if error.errno not in TAKEN or not path.is_dir():
                raise  # otherwise another process has made it meanwhile
    with one_name(path, beside := fresh(path / "new")):
        beside.mkdir()
        try:
            fill(beside, write)
            for name in kept:
                if (path / name).exists():
                    (beside / name).unlink(missing_ok=True)
            while beside.exists():
                finish(path)  # left by a kill, or by another process that is writing here now
                rename_if_free(beside, path / UNFINISHED)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        finish(path)


WAITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # seconds


def moved(move: Callable[[Path], object], to: Path) -> None:
    """Let a path's `rename` or `replace` give it this name. On Windows nothing moves while somebody has it open, and virus
    scanners open new files: they are given a second."""
    for seconds in WAITS if os.name == "nt" else ():
        try:
            move(to)
            return
        except PermissionError:
            time.sleep(seconds)
    move(to)


def rename_if_free(path: Path, to: Path) -> None:
    "Rename a directory if the new name is free; otherwise leave it as it is."
    try:
        moved(path.rename, to)
    except OSError as error:
        if error.errno not in TAKEN:
            raise


def finish(path: Path) -> None:
    "Complete a directory's `write_into` if it was interrupted after the deciding rename. Several processes may do so at once."
    whole = path / UNFINISHED
    if whole.is_symlink():  # its files belong to somebody else
        raise OSError(errno.EINVAL, f"{UNFINISHED} in it is a link, and not what writing here has left: remove it", str(path))
    while whole.is_dir():  # again, if another process finished it and then decided on files of its own
        sync(path)
        try:
            for part in parts_of(whole):
                with suppress(FileNotFoundError):  # another process has moved it
                    moved(part.replace, path / part.name)
            sync(path)
            remove_if_empty(whole)
        except OSError as error:
            if error.errno in DENIED and soon_gone(whole):
                continue
            how = f"move the files of {whole} into {path}, in place of those that are there, and remove it"
            raise OSError(error.errno, f"writing it was broken off, and cannot be finished here ({error.strerror}): {how}",
                          str(path)) from None


def soon_gone(directory: Path) -> bool:
    "Whether somebody who may write here, and is about to finish, removes a directory within a second."
    for seconds in WAITS:
        if not directory.is_dir():
            return True
        time.sleep(seconds)
    return not directory.is_dir()


def parts_of(directory: Path) -> list[Path]:
    """The contents of a directory, checksums first, then by name: whoever finds the same checksums, or without them the same
    config.json, before and after has read the files of one save. Empty if another process has just removed the directory."""
    try:
        return sorted(directory.iterdir(), key=lambda part: (part.name != SUMS, part.name))
    except FileNotFoundError:
        return []


def remove_if_empty(directory: Path) -> None:
    "Remove a directory, unless something is in it; another process may have removed it."
    try:
        directory.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOENT, *TAKEN):
            raise


def require_place(path: Path) -> None:
    "OSError if a file could not be written; call it before the work. It leaves nothing behind."
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    above = next(above for above in path.absolute().parents if above.exists())  # the others do not exist yet
    with one_name(path, beside := fresh(above / regular(path).name)):
        beside.touch(exist_ok=False)
        beside.unlink()


@contextmanager
def one_name(path: Path, beside: Path) -> Iterator[None]:
    "An error about the temporary name, or without a name, is reported with the name that the user knows."
    try:
        yield
    except SafetensorError as error:  # it reports a full disk, among other things
        raise OSError(errno.EIO, str(error), str(path)) from None
    except OSError as error:
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]  # two if a file is copied
        if not names or any(name.startswith(str(beside)) for name in names):
            error.strerror, error.filename = error.strerror or str(error), str(path)
            del error.filename2  # the target of a rename
        raise


def remove_directory(path: Path) -> None:
    "Remove a directory; other processes see all of it or none of it."
    gone = fresh(path)
    moved(path.rename, gone)
    shutil.rmtree(gone, ignore_errors=True)


def move_directory(path: Path, to: Path) -> None:
    "Give a directory another name, replacing whatever has that name."
    shutil.rmtree(to, ignore_errors=True)
    moved(path.rename, to)


def sha256(path: Path) -> str:
    "The SHA-256 checksum of a file."
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_sums(directory: Path) -> dict[str, str]:
    "The contents of a directory's SHA256SUMS: the checksum of each file; empty if there is none. InputError if it is damaged."
    path = directory / SUMS
    try:
        with opened(path) as file:
            lines = file.read().decode("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({getattr(error, 'strerror', 'it is no text')}){AGAIN}") from None
    found = [re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line) for line in lines]  # `sha256sum -b` writes the star
    if not all(found) or not found:
        raise InputError(f"{path} is damaged{AGAIN}")
    sums = {line[2]: line[1] for line in found}
    return {name: digest for name, digest in sums.items() if Path(name).name == name}  # only files of this directory


def write_sums(directory: Path, names: Iterable[str], others: dict[str, str] | None = None) -> None:
    "Write the SHA256SUMS for these files of a directory, and for others already known; this must be the last file written."
    found = (others or {}) | {name: sha256(directory / name) for name in names}
    write_text_file(directory / SUMS, "".join(f"{digest}  {name}\n" for name, digest in found.items()))


def renew_sums(old: Path, new: Path, names: Iterable[str]) -> None:
    "For new files that will replace some of a directory's: if it has a SHA256SUMS, write one that will be true of all of them."
    finish(old)
    with suppress(InputError):  # a damaged one says nothing of the other files
        if others := read_sums(old):
            write_sums(new, names, others)


def damage(directory: Path, names: Iterable[str]) -> str | None:
    "The first of these files of a directory that is no longer as it was written, and why; None if all are intact."
    try:
        sums = read_sums(directory)
    except InputError as error:
        return str(error).removesuffix(AGAIN)
    for name in names:
        path = directory / name
        try:
            if not path.exists():
                return f"{path} is missing"
            if name not in sums:
                return f"{directory / SUMS} is missing or damaged"
            if sha256(path) != sums[name]:
                return f"{path} is damaged (its checksum is wrong)"
        except OSError as error:  # a bad disk, or an impossible file name
            return f"{path} cannot be read ({error.strerror})"
    return None

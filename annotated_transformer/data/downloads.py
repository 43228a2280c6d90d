"Multi30k and WMT 2014 (§5.1): each file is downloaded once, checked, and kept; a download that fails leaves nothing behind."
import errno
import gzip
import hashlib
import logging
import os
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tqdm.utils import CallbackIOWrapper

from .. import InputError
from .parallel_text import Corpus, PairFiles, Pairs, both_sides, read_pairs
from ..environment import data_directory
from ..files import require_place, sha256, write_file
from ..progress_bar import progress_bar

__all__ = ["Store", "cache_directory", "fetch", "multi30k", "wmt14"]


def cache_directory() -> Path:
    "Where downloads are kept: $ANNOTATED_TRANSFORMER_DATA, or else this user's cache."
    if named := data_directory():
        return named
    import pooch

    try:
        return Path(pooch.os_cache("annotated_transformer"))
    except RuntimeError:  # a user without a passwd entry, as in a container
        raise InputError("this user has no home directory to keep downloads in: set ANNOTATED_TRANSFORMER_DATA to a directory"
                         ) from None


class Store(NamedTuple):
    "A directory of the cache, where its files come from, and their checksums."

    directory: Path
    url: str                # the part before the name of a file
    sha256: dict[str, str]  # of each file


def require_writable(directory: Path) -> None:
    "Make it if it does not exist; InputError if no file can be written into it."
    try:
        directory.mkdir(parents=True, exist_ok=True)
        require_place(directory / "probe")
    except OSError as error:
        raise InputError(f"{directory} cannot be written ({error.strerror}): fix that, or set ANNOTATED_TRANSFORMER_DATA to "
                         "another directory") from None


def download(url: str, wanted: str, path: Path) -> None:
    "Download an address into this file; ValueError if its SHA-256 is not the expected one."
    from pooch import HTTPDownloader

    HTTPDownloader(progressbar=sys.stderr.isatty())(url, str(path), None)
    if sha256(path) != wanted:
        raise ValueError(f"{url}: the checksum is wrong")


def fetch(store: Store, name: str) -> Path:
    "A file of the store: read from the cache if it is there and undamaged, otherwise downloaded and checked."
    path, url, wanted = Path(store.directory, name), f"{store.url}{name}", store.sha256[name]
    if path.is_file() and sha256(path) == wanted:  # this works without pooch, which does the downloading
        return path
    require_writable(Path(store.directory))
    try:
        write_file(path, partial(download, url, wanted))  # others who share the cache could not read pooch's own file
        return path
    except (OSError, ValueError) as error:  # OSError: no network or a full disk; ValueError: a wrong checksum
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InputError(f"{path} could not be written ({error.strerror}): make room, or set ANNOTATED_TRANSFORMER_DATA to "
                             "a directory on another disk") from None
        path, cache = Path(os.path.abspath(path)), Path(os.path.abspath(cache_directory()))
        held = path.relative_to(cache) if path.is_relative_to(cache) else Path(path.parent.name, name)
        reason = "the checksum is wrong" if isinstance(error, ValueError) else type(error).__name__
        raise InputError(
            f"{path} is {'damaged' if path.exists() else 'missing'} and could not be fetched from {url} "
            f"({reason}): try again with a network, or set ANNOTATED_TRANSFORMER_DATA to a directory that holds {held}"
        ) from None


MULTI30K_URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
MULTI30K_SHA256 = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.fr.gz": "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496",
    "test_2017_mscoco.en.gz": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2017_mscoco.de.gz": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
    "test_2017_mscoco.fr.gz": "754f3072ba9f124569ba5258b32730fc1d214bbf8e0c6dfb2b74401676220db0",
}


def multi30k(
    target_language: str = "de",  # or "fr"
    directory: str | Path | None = None,  # the cache; a test passes its own, with an address and checksums
    base_url: str = MULTI30K_URL,
    sha256: dict[str, str] = MULTI30K_SHA256,
) -> Corpus:
    "Multi30k: 29,000 captions of photographs with their translations, and three test sets (non-commercial; CC BY-NC-SA 4.0)."
    store = Store(Path(directory or cache_directory() / "multi30k"), base_url, sha256)

    def pairs(name: str) -> Pairs:
        files = (fetch(store, f"{name}.{side}.gz") for side in ("en", target_language))
        return read_pairs(*files, keep=both_sides if name == "train" else None)

    files = {"test2016": "test_2016_flickr", "test2017": "test_2017_flickr", "mscoco": "test_2017_mscoco"}
    train, validation, tests = pairs("train"), pairs("val"), {name: pairs(file) for name, file in files.items()}
    return Corpus(f"multi30k-en-{target_language}", "en", target_language, train, validation, tests)


class Archive(NamedTuple):
    "A part of the training set: where it is, and the names of our files in it."

    url: str
    size: int  # bytes
    sha256: str
    member: str  # a file in it; {other} is the language paired with English, {side} that of the file
    languages: str = "de fr"  # those that use it

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    def members(self, other: str) -> list[str]:
        "Names of the two files in the archive, English first."
        return [self.member.format(other=other, side=side) for side in ("en", other)]


WMT14 = (
    Archive(
        "http://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz",
        657_632_379,
        "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
        "training/europarl-v7.{other}-en.{side}",
    ),
    Archive(
        "http://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz",
        918_311_367,
        "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
        "commoncrawl.{other}-en.{side}",
    ),
    Archive(
        "http://www.statmt.org/wmt14/training-parallel-nc-v9.tgz",
        80_418_416,
        "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
        "training/news-commentary-v9.{other}-en.{side}",
    ),
    Archive(
        "http://www.statmt.org/wmt10/training-giga-fren.tar",
        2_595_102_720,
        "3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a",
        "giga-fren.release2.fixed.{side}.gz",
        "fr",
    ),
    Archive(
        "http://www.statmt.org/wmt13/training-parallel-un.tgz",
        2_365_634_246,
        "29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47",
        "un/undoc.2000.{other}-en.{side}",
        "fr",
    ),
)


def check_room(directory: Path, size: int) -> None:
    "InputError if the disk that holds a directory has fewer bytes left."
    if (free := shutil.disk_usage(directory).free) < size:
        raise InputError(
            f"{directory} needs {size / 1e9:.1f} GB, but only {free / 1e9:.1f} GB of its disk are free: "
            "make room, or set ANNOTATED_TRANSFORMER_DATA to a directory on another disk"
        )


def copy_entry(tar: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
    "One file of a tar archive, piece by piece."
    with open(path, "wb") as copy:
        shutil.copyfileobj(tar.extractfile(entry), copy, 1 << 20)


def extract(archive: Path, members: Iterable[str], directory: Path) -> None:
    "Extract these files of a tar archive and no others, each completely or not at all."
    wanted = set(members)
    options = dict(total=archive.stat().st_size, unit="B", unit_scale=True, desc=f"extract {archive.name}")
    try:
        # The bar shows how much of the archive has been read: what it holds, and where, is not known in advance.
        with open(archive, "rb") as file, progress_bar(**options) as bar, \
                tarfile.open(fileobj=CallbackIOWrapper(bar.update, file)) as tar:
            for entry in tar:
                name = entry.name.removeprefix("./")
                if name not in wanted or not entry.isfile():  # so the archive cannot choose where anything is written
                    continue
                check_room(directory, entry.size)
                path = directory / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, partial(copy_entry, tar, entry))
                wanted.remove(name)
                if not wanted:
                    return
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, MemoryError, OverflowError):  # a header may claim any size
        raise InputError(f"{archive} is damaged: delete it, and it is downloaded again") from None
    except OSError as error:
        raise InputError(f"{archive} cannot be extracted to {directory} ({error.strerror}): check room and rights") from None
    raise InputError(f"{archive} does not hold {' and '.join(sorted(wanted))}: put the files into {directory} under these names")


def wmt14_files(
    other: str,  # the language paired with English
    directory: Path,
    archives: Iterable[Archive] = WMT14,
) -> list[tuple[Path, Path]]:
    "The training files, English first; missing ones are extracted from their archive, and a missing archive is downloaded."
    chosen = [archive for archive in archives if other in archive.languages.split()]
    paths = {archive: [directory / member for member in archive.members(other)] for archive in chosen}
    missing = [archive for archive in chosen if not all(path.exists() for path in paths[archive])]
    if missing:
        require_writable(directory)
        check_room(directory, sum(archive.size * (1 if (directory / archive.name).exists() else 2) for archive in missing))
    for archive in missing:
        store = Store(directory, archive.url.removesuffix(archive.name), {archive.name: archive.sha256})
        members = [member for member in archive.members(other) if not (directory / member).exists()]
        extract(fetch(store, archive.name), members, directory)
    return [tuple(paths[archive]) for archive in chosen]


def similar_length(source: str, target: str) -> bool:
    "The rule for French: neither side has more than 175 words, or more than 1.5 times the words of the other side."
    fewer, more = sorted((len(source.split()), len(target.split())))
    return 0 < fewer and more <= 175 and more <= 1.5 * fewer


def newstest(test_set: str, languages: str) -> Pairs:
    "A test set of sacreBLEU, which downloads it the first time: newstest2013 is its `wmt13`, newstest2014 its `wmt14/full`."
    from sacrebleu import SACREBLEU_DIR  # imported here because it takes a while to load
    from sacrebleu.dataset import DATASETS

    dataset, directory, logger = DATASETS[test_set], Path(SACREBLEU_DIR, test_set), logging.getLogger("sacrebleu")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it would log what the message below says
    try:
        source, target = dataset.get_source_file(languages), dataset.get_reference_files(languages)[0]
    except (Exception, SystemExit) as error:  # no network, full disk, lock, wrong checksum (SystemExit), half an archive ...
        for archive in (directory / "raw").glob("*.tgz"):
            if hashlib.md5(archive.read_bytes()).hexdigest() not in dataset.md5:
                archive.unlink()
        raise InputError(
            f"sacreBLEU could not fetch its test set {test_set} from {dataset.data[0]} ({type(error).__name__}): try again with "
            f"a network, or let the environment variable SACREBLEU name a directory that holds {test_set} with its files"
        ) from None
    finally:
        logger.setLevel(level)
    try:
        return read_pairs(source, target)
    except InputError as error:
        raise InputError(f"{error}; these are sacreBLEU's own files: delete {directory}, and it fetches them again") from None


def wmt14(
    target_language: str = "de",  # or "fr"
    directory: str | Path | None = None,  # for the training files: the cache, or a test's own
    archives: Iterable[Archive] = WMT14,
) -> Corpus:
    "WMT 2014, the paper's own; each part has its own terms. 4.5 million pairs with German, 36 million with French."
    languages = f"en-{target_language}"
    files = partial(wmt14_files, target_language, Path(directory or cache_directory() / "wmt14"), archives)
    train = PairFiles(files, keep={"de": both_sides, "fr": similar_length}[target_language])
    tests = {"newstest2014": newstest("wmt14/full", languages)}
    return Corpus(f"wmt14-{languages}", "en", target_language, train, newstest("wmt13", languages), tests)

"""Which files a path names: the file itself, what a glob matches, or everything in a folder that may be a log."""

# Names are used and shown exactly as they were given, which pathlib does not do.
# ruff: noqa: PTH112, PTH113, PTH114, PTH116, PTH207

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from logdoctor.model import InputError
from logdoctor.sources.bounds import Budget

Report = Callable[["InputError | OSError", str], None]

_NO_LOG = frozenset(
    """
    bin ckpt distcp engine gguf h5 hdf5 idx index joblib mar model msgpack nemo npy npz onnx ot pb pickle pkl plan
    pt pth safetensors
    arrow db feather lmdb mdb ncu-rep nsys-rep orc parquet qdrep sqlite sqlite3 tfrecord tfrecords
    class cubin deb dll dylib egg exe fatbin jar ko ptx pyc pyd rpm so whl
    c cc cpp cu cuh cxx diff go h hpp htm html hxx ipynb java js lua md patch pl py pyi pyx r rs rst sbatch scala sh ts
    toml yaml yml
    avi bmp css doc docx eps flac gif ico jpeg jpg mkv mov mp3 mp4 ogg otf pdf png ppt pptx svg tif tiff ttf wav webm
    webp woff woff2 xls xlsx
    """.split()
)
"""Endings of weights, data, programs, sources (they quote errors that never happened), pictures and documents."""

# Compiled when first used: start-up is short.
_LIBRARY = r"\.so\.[0-9][0-9.]*$"
_ROTATED = r"(.+?)[.-]([0-9]{1,3}|[0-9]{8}(?:[-.T]?[0-9]{2,6})?)(?:\.(?:gz|bz2|xz|zst))?$"


class Found(NamedTuple):
    """A file to read; ``named``: the user named it, it was not only found in a folder or by a glob."""

    path: str
    named: bool


def may_be_log(path: str) -> bool:
    """Whether a file found under this relative path is worth opening: not hidden, and of no kind that holds no log."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    if not parts or any(part[0] == "." or part in ("__pycache__", "__MACOSX", "node_modules") for part in parts):
        return False
    name = parts[-1].lower()
    return not (("." in name and name.rpartition(".")[2] in _NO_LOG) or "tfevents" in name or re.search(_LIBRARY, name))


class Finder:
    """Finds the files of one job."""

    def __init__(self, report: Report, budget: Budget) -> None:
        """Tell ``report`` what cannot be read; list no more files than ``budget`` allows."""
        self._report, self._budget = report, budget
        self._walked: set[tuple[int, int]] = set()
        """Device and inode of the folders that were walked: links to them end here."""

    def find(self, path: str) -> Iterator[Found]:
        """The files that ``path`` names, in reading order."""
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            yield from self._absent(path, error)
            return
        if stat.S_ISDIR(status.st_mode):
            yield from (Found(file, named=False) for file in self._folder(path))
        elif stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode):
            yield Found(path, named=True)
        else:
            self._report(InputError("was not read", path, "it is a device or a socket, not a file"), path)

    def _absent(self, path: str, error: OSError | ValueError) -> Iterator[Found]:
        """A path that leads to nothing: a glob that the shell left alone, or a problem."""
        if isinstance(error, ValueError):
            self._report(InputError("cannot be read", path, "the path has a NUL character in it"), path)
        elif os.path.islink(path):
            self._report(_link(path), path)
        elif isinstance(error, FileNotFoundError) and any(c in path for c in "*?["):
            yield from self._matches(path)
        else:
            self._report(error, path)

    def _matches(self, pattern: str) -> Iterator[Found]:
        import glob

        matches = list(islice(glob.iglob(pattern, recursive=True), self._budget.bounds.entries + 1))
        if not matches:
            self._report(InputError("no file matches", pattern, "the pattern names nothing", "check the path"), pattern)
        for match in in_reading_order(matches):
            if os.path.isdir(match):
                yield from self.find(match)
            elif os.path.isfile(match) or os.path.islink(match):
                yield Found(match, named=False)

    def _folder(self, top: str) -> list[str]:
        """The files below ``top``: the real ones first, so that they and not the links to them give the names."""
        real: list[str] = []
        linked: list[str] = []
        folders, links = [top], list[str]()
        try:
            while folders or links:
                for entry in self._entries(folders.pop() if folders else links.pop(0)):
                    self._budget.enter(top)
                    leads_to = self._mode(entry)
                    if stat.S_ISDIR(leads_to):
                        (links if entry.is_symlink() else folders).append(entry.path)
                    elif leads_to:
                        (linked if entry.is_symlink() else real).append(entry.path)
        except InputError as error:  # the bound on files
            self._report(error, top)
        return in_reading_order(real) + in_reading_order(linked)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """What stands in ``folder`` and may be or hold a log; nothing if the folder was walked before."""
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in self._walked:
                return []
            self._walked.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                found = list(islice(entries, self._budget.bounds.entries + 1))
            return [e for e in found if may_be_log(f"{e.name}/x" if e.is_dir(follow_symlinks=False) else e.name)]
        except OSError as error:
            self._report(error, folder)
            return []

    def _mode(self, entry: os.DirEntry[str]) -> int:
        """What kind of file an entry is or leads to (`os.stat_result.st_mode`); 0 for a link to nothing."""
        try:
            if not entry.is_symlink():
                return stat.S_IFDIR if entry.is_dir() else stat.S_IFREG  # looked at again when it is opened
            return entry.stat().st_mode
        except OSError:
            self._report(_link(entry.path), entry.path)
            return 0


def _link(path: str) -> InputError:
    return InputError("cannot be read", path, "it is a link to a file that is not there, or to itself")


def in_reading_order(paths: list[str]) -> list[str]:
    """The paths by name with numbers as numbers, and a log's rotated parts (``x.log.2.gz``, ``x.log.1``) before it."""
    known = set(paths)

    def key(path: str) -> tuple[object, ...]:
        rotated = re.match(_ROTATED, path)
        if rotated and rotated[1] in known:
            number = rotated[2]
            counted = len(number) < 8  # else it is a date: the older one is the smaller
            return natural(rotated[1]), 0, -int(number) if counted else 0, path
        return natural(path), 1, 0, path

    return sorted(paths, key=key)


def natural(path: str) -> tuple[tuple[str | int, ...], ...]:
    """A sort key by which ``rank_2`` comes before ``rank_10``, folder by folder."""
    return tuple(
        tuple(int(part) if part.isdigit() and part.isascii() else part for part in re.split("([0-9]+)", name))
        for name in path.split("/")
    )

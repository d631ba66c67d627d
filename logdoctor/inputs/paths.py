"""Search for the files that paths, globs and folders name."""

# Names are used exactly as the user wrote them. pathlib would change them.
# ruff: noqa: PTH112, PTH113, PTH114, PTH116, PTH207

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from logdoctor.inputs.bounds import Budget
from logdoctor.inputs.streams import ProblemReporter
from logdoctor.model import InputError, InputRead
from logdoctor.model.numbers import number

MAX_OTHERS = 1024
"""Files whose names are not those of logs and that are opened to see their type, for one job."""

_OTHER_SUFFIXES = frozenset(
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
"""Suffixes of weights, data, programs, pictures, documents and sources (which quote errors that never happened)."""

# Strings, compiled at first use, because compiling at import would delay every start.
_LIBRARY = r"\.so\.[0-9][0-9.]*$"
_ROTATED = r"(.+?)[.-]([0-9]{1,3}|[0-9]{8}(?:[-.T]?[0-9]{2,6})?)(?:\.(?:gz|bz2|xz|zst))?$"


MERGED_FILE, PARTS_FOLDER, LOCK_FILE = "jobs.jsonl", "landing", ".lock"
"""Names in the folder of a scan."""


class InputFile(NamedTuple):
    """A file to read. ``explicit``: the user named it, so it was not found in a folder or by a glob."""

    path: str
    explicit: bool


def is_remote(path: str) -> bool:
    """Return whether ``path`` is a URL."""
    return "://" in path


def may_be_log(path: str) -> bool:
    """Report whether a file under this relative path is worth opening.

    Hidden files, data, programs and sources are not.
    """
    name = path.rpartition("/")[2].lower()
    return not (
        is_hidden(path)
        or ("." in name and name.rpartition(".")[2] in _OTHER_SUFFIXES)
        or "tfevents" in name
        or re.search(_LIBRARY, name)
    )


def is_hidden(path: str) -> bool:
    """Report whether a relative path is hidden, or in a folder that holds copies or installed sources."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    return not parts or any(part[0] == "." or part in ("__pycache__", "__MACOSX", "node_modules") for part in parts)


def holds_scan_results(entries: Iterable[os.DirEntry[str]]) -> bool:
    """Report whether ``entries`` are those of a folder of a scan. It is not read, because it quotes failures."""
    names = {entry.name for entry in entries}
    return LOCK_FILE in names and not names.isdisjoint((MERGED_FILE, PARTS_FOLDER))


class Finder:
    """Find the files of one job."""

    def __init__(
        self, report: ProblemReporter, budget: Budget, *, found: bool = False, follow_links: bool = False
    ) -> None:
        """``found`` and ``follow_links`` are those of `Job`."""
        self._report, self._budget = report, budget
        self._named, self._follow_links = not found, follow_links
        self._folder_ids: set[tuple[int, int]] = set()
        """Device and inode of walked folders. A link to such a folder is not followed again."""
        self.others: list[str] = []
        """Files of the last folder whose names are not those of logs. At most `MAX_OTHERS` of a job are kept."""
        self._other_count = 0

    def find(self, path: str) -> Iterator[InputFile]:
        """Yield the files that ``path`` names, in reading order."""
        self.others = []
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            yield from self._find_missing(path, error)
            return
        if stat.S_ISDIR(status.st_mode):
            yield from (InputFile(file, explicit=False) for file in self._walk(path))
        elif stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode):
            yield InputFile(path, explicit=True)
        else:
            device = InputError("was not read", path, "it is a device or a socket, not a file")
            self._report.unread(device, path, "device or socket", named=self._named, matters=self._named)

    def _find_missing(self, path: str, error: OSError | ValueError) -> Iterator[InputFile]:
        """Expand a glob that the shell did not expand. Report any other missing path."""
        if isinstance(error, ValueError):
            self._missing(InputError("cannot be read", path, "the path has a NUL character in it"), path)
        elif os.path.islink(path):
            self._missing(_broken_link(path), path)
        elif isinstance(error, FileNotFoundError) and any(c in path for c in "*?["):
            yield from self._expand_glob(path)
        else:
            self._missing(error, path)

    def _missing(self, error: InputError | OSError, path: str) -> None:
        self._report.unread(error, path, "missing", named=self._named)

    def _expand_glob(self, pattern: str) -> Iterator[InputFile]:
        import glob

        matches = list(islice(glob.iglob(pattern, recursive=True), self._budget.bounds.entries + 1))
        if not matches:
            self._missing(
                InputError("no file matches", pattern, "the pattern names nothing", "check the path"), pattern
            )
        for match in sort_for_reading(matches):
            if os.path.isdir(match):
                yield from self.find(match)
            elif os.path.isfile(match) or os.path.islink(match):
                yield InputFile(match, explicit=False)

    def _walk(self, top: str) -> list[str]:
        """List the files below ``top``, real files before links.

        A file that is also linked is then read under its real name.
        """
        real: list[str] = []
        linked: list[str] = []
        folders, links = [top], list[str]()
        inside = os.path.realpath(top)
        try:
            while folders or links:
                for entry in self._list_folder(folders.pop() if folders else links.pop(0)):
                    self._budget.count_entry(top)
                    mode = self._target_mode(entry, inside)
                    if stat.S_ISDIR(mode):
                        (links if entry.is_symlink() else folders).append(entry.path)
                    elif mode:
                        (linked if entry.is_symlink() else real).append(entry.path)
        except InputError as error:  # the bound on files
            self._report.unread(error, top, "a folder", named=self._named, read="part")
        self.others.sort(key=natural_key)
        return sort_for_reading(real) + sort_for_reading(linked)

    def _list_folder(self, folder: str) -> list[os.DirEntry[str]]:
        """List the entries of ``folder`` that may be or hold a log. Empty if it was walked before."""
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in self._folder_ids:
                return []
            self._folder_ids.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                listed = list(islice(entries, self._budget.bounds.entries + 1))
            if holds_scan_results(listed):
                return []
            return [e for e in listed if not is_hidden(e.name) and self._may_hold_log(e)]
        except OSError as error:
            self._report.unread(error, folder, "a folder", named=self._named)
            return []

    def _may_hold_log(self, entry: os.DirEntry[str]) -> bool:
        if may_be_log(entry.name) or entry.is_dir(follow_symlinks=False):
            return True
        self._other_count += 1
        if self._other_count <= MAX_OTHERS:
            self.others.append(entry.path)
        return False

    def _target_mode(self, entry: os.DirEntry[str], inside: str) -> int:
        """Return the mode (``st_mode``) of the target of an entry.

        The mode is 0 for a broken link, and for a link out of the folder ``inside`` that is not to be followed.
        """
        try:
            if not entry.is_symlink():
                # The exact type is checked when the file is opened.
                return stat.S_IFDIR if entry.is_dir() else stat.S_IFREG
            mode = entry.stat().st_mode
        except OSError:
            self._report.unread(_broken_link(entry.path), entry.path, "broken link", named=False)
            return 0
        if self._follow_links or is_inside(entry.path, inside):
            return mode
        error = InputError("was not read", entry.path, LEAVES, "read it with --follow-links")
        if stat.S_ISDIR(mode):  # most jobs have such a link, to their data
            self._report.inventory.add(InputRead(entry.path, "a link to a folder", read="not", why=LEAVES))
        else:
            self._report.unread(error, entry.path, "a link", named=False)
        return 0


LEAVES = "it is a link that leaves the folder"


def is_inside(path: str, folder: str) -> bool:
    """Report whether the file that ``path`` names, through links, lies in the real folder ``folder``."""
    return os.path.commonpath((os.path.realpath(path), folder)) == folder


def _broken_link(path: str) -> InputError:
    return InputError("cannot be read", path, "it is a link to a file that is not there, or to itself")


def sort_for_reading(paths: list[str]) -> list[str]:
    """Sort paths by name, numbers by value, older rotated parts first.

    For example ``x.log.2.gz``, ``x.log.1``, ``x.log``.
    """
    names = set(paths)

    def key(path: str) -> tuple[object, ...]:
        rotated = re.match(_ROTATED, path)
        if rotated and rotated[1] in names:
            counter = number(rotated[2]) if len(rotated[2]) < 8 else 0  # a longer number is a date, older ones smaller
            return natural_key(rotated[1]), 0, -(counter or 0), path
        return natural_key(path), 1, 0, path

    return sorted(paths, key=key)


def natural_key(path: str) -> tuple[tuple[str | int, ...], ...]:
    """Return a sort key that puts ``rank_2`` before ``rank_10``, folder by folder."""
    return tuple(
        tuple((number(part) or 0) if part.isdigit() and part.isascii() else part for part in re.split("([0-9]+)", name))
        for name in path.split("/")
    )

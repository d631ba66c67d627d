"""Limits on unpacking for one job, and a counter that enforces them."""

from __future__ import annotations

from msgspec import Struct

from logdoctor.model import InputError

MIB = 1 << 20
GIB = 1 << 30


class Bounds(Struct, frozen=True):
    """Limits that stop a hostile or absurd input.

    A plain file is read to its end, however large.

    ``inflated_bytes``: total of decompressed bytes of one job.
    ``ratio``: maximum growth of a compressed file. Logs shrink 5 to 60 times, bombs 1000 times and more.
    ``ratio_after``: bytes that any file may produce before ``ratio`` applies.
    ``nesting``: layers inside each other. A ``.tar.gz`` file has two.
    ``entries``: files in folders plus members of archives, for one job.
    ``zip_bytes``: size of a zip file that is not seekable (inside an archive, or from a pipe). Such a file is held in
    memory, because its member list stands at its end.
    """

    inflated_bytes: int = 256 * GIB
    ratio: int = 250
    ratio_after: int = GIB
    nesting: int = 8
    entries: int = 100_000
    zip_bytes: int = 256 * MIB


class Budget:
    """The amount that one job has used of its `Bounds`.

    A bound on bytes or entries raises the same `InputError` object each time, so that it is reported once.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._byte_count = 0
        self._entry_count = 0
        self._bytes_error: InputError | None = None
        self._entries_error: InputError | None = None

    def count_bytes(self, count: int, where: str) -> None:
        """Count ``count`` decompressed bytes of ``where``. Raises `InputError` over the bound."""
        self._byte_count += count
        if self._byte_count > self.bounds.inflated_bytes:
            self._bytes_error = self._bytes_error or InputError(
                "the rest of what is compressed was not read",
                where,
                f"more than {format_size(self.bounds.inflated_bytes)} came out of the compressed files of this job",
                "give fewer files at once, or unpack them yourself",
            )
            raise self._bytes_error

    def count_entry(self, where: str) -> None:
        """Count one file or archive member of ``where``. Raises `InputError` over the bound."""
        self._entry_count += 1
        if self._entry_count > self.bounds.entries:
            self._entries_error = self._entries_error or InputError(
                "not every file was read",
                where,
                f"there are more than {self.bounds.entries} files in the folders and archives of this job",
                "name the folders or files that matter, for example 'run/logs/*.log'",
            )
            raise self._entries_error

    def check_depth(self, depth: int, where: str) -> None:
        """Raise `InputError` if ``depth`` exceeds the bound on nesting."""
        if depth >= self.bounds.nesting:
            raise InputError(
                "archive in an archive was not opened",
                where,
                f"it is packed more than {self.bounds.nesting} layers deep",
                "unpack the outer archive and give what is inside",
            )


def format_size(count: int) -> str:
    """Return a size for people, for example ``256 GiB``."""
    for unit, scale in (("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.0f} {unit}"
    return f"{count} bytes"

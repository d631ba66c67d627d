"""How much may be unpacked for one job, and the ledger that counts it."""

from __future__ import annotations

from msgspec import Struct

from logdoctor.model import InputError

MIB = 1 << 20
GIB = 1 << 30


class Bounds(Struct, frozen=True):
    """What stops a hostile or absurd input.  Plain files are read to their end whatever their size.

    ``inflated_bytes``: decompressed bytes in all, for one job.
    ``ratio`` and ``ratio_after``: a compressed file that has given more than ``ratio_after`` bytes must not have given
    more than ``ratio`` times what was read of it.  Logs shrink 5 to 60 times, bombs 1000 times and more.
    ``nesting``: layers inside each other; a compressed tar file has two.
    ``entries``: files in folders and members in archives, for one job.
    ``zip_bytes``: size of a zip file that cannot be read where it lies (inside an archive, from a pipe) and is held in
    memory, because the list of its members stands at its end.
    """

    inflated_bytes: int = 256 * GIB
    ratio: int = 250
    ratio_after: int = GIB
    nesting: int = 8
    entries: int = 100_000
    zip_bytes: int = 256 * MIB


class Budget:
    """What one job has used up so far.  A bound that was passed raises the same `InputError` object ever after."""

    def __init__(self, bounds: Bounds) -> None:
        """Start at nothing used."""
        self.bounds = bounds
        self._inflated = 0
        self._entries = 0
        self._full: InputError | None = None
        self._crowded: InputError | None = None

    def inflate(self, count: int, where: str) -> None:
        """Count ``count`` decompressed bytes of ``where``; raises `InputError` over the bound."""
        self._inflated += count
        if self._inflated > self.bounds.inflated_bytes:
            self._full = self._full or InputError(
                "the rest of what is compressed was not read",
                where,
                f"more than {size(self.bounds.inflated_bytes)} came out of the compressed files of this job",
                "give fewer files at once, or unpack them yourself",
            )
            raise self._full

    def enter(self, where: str) -> None:
        """Count one more file or member, found in ``where``; raises `InputError` over the bound."""
        self._entries += 1
        if self._entries > self.bounds.entries:
            self._crowded = self._crowded or InputError(
                "not every file was read",
                where,
                f"there are more than {self.bounds.entries} files in the folders and archives of this job",
                "name the folders or files that matter, for example 'run/logs/*.log'",
            )
            raise self._crowded

    def deeper(self, depth: int, where: str) -> None:
        """Check that one more layer may be opened at ``depth``; raises `InputError` over the bound."""
        if depth >= self.bounds.nesting:
            raise InputError(
                "archive in an archive was not opened",
                where,
                f"it is packed more than {self.bounds.nesting} layers deep",
                "unpack the outer archive and give what is inside",
            )


def size(count: int) -> str:
    """A number of bytes for a person: ``256 GiB``."""
    for unit, scale in (("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.0f} {unit}"
    return f"{count} bytes"

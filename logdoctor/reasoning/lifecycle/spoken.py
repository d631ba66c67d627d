"""Positions at which ranks printed lines.

A job script that fails to run a command and then starts its ranks did not end at that command. The same holds for a
shell profile with a missing command (rules/benign/shell-went-on).
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record

MAX_FILES = 4096


class RankLines(Struct):
    """Last line of a rank in each file, without failures."""

    last: dict[str, int] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Note a line with a rank.

        Failing lines do not count, because ``srun -l`` puts a rank in front of a shell's complaint too.
        """
        if record.source.rank is None or record.failing:
            return
        if record.line.file in self.last or len(self.last) < MAX_FILES:
            self.last[record.line.file] = record.order

    def after(self, record: Record) -> bool:
        """Return whether ranks printed lines after the record.

        The order of lines in two files is unknown, so each other file counts.
        """
        elsewhere = any(file != record.line.file for file in self.last)
        return elsewhere or self.last.get(record.line.file, -1) > record.order

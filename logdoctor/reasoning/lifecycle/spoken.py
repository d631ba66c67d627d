"""Where ranks spoke: a script that complains of a command and then starts its ranks did not end there.

So do job scripts whose profile misses a command (rules/benign/shell-went-on).
"""

from __future__ import annotations

from msgspec import Struct, field

from logdoctor.model import Record

MAX_FILES = 4096


class RanksSpoke(Struct):
    """By file, where a rank last said something that is no failure."""

    last: dict[str, int] = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Take one event in; a launcher's tag (`srun -l`) in front of a shell's complaint makes no rank of it."""
        if record.source.rank is None or record.failing:
            return
        if record.line.file in self.last or len(self.last) < MAX_FILES:
            self.last[record.line.file] = record.order

    def after(self, record: Record) -> bool:
        """Whether ranks spoke later in the file of ``event``, or in another one (two files tell no order)."""
        elsewhere = any(file != record.line.file for file in self.last)
        return elsewhere or self.last.get(record.line.file, -1) > record.order

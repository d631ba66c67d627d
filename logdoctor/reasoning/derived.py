"""Records that detectors derive, each on the log line that shows the conclusion."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Level, Line, Record, Source, Value


def derive_record(
    kind: str,
    base: Record,
    fields: Mapping[str, Value | None],
    *,
    keep_source: bool = True,
    level: Level = "error",
    line: Line | None = None,
) -> Record:
    """Return a record ``ledger.<kind>`` on the line of ``base``.

    Pass ``line`` for another line of that record. Empty fields are left out. Pass ``keep_source=False`` if the record
    is not about the process that printed the line.
    """
    present = {name: value for name, value in fields.items() if value not in (None, "", ())}
    source = base.source if keep_source else Source(time=base.time)
    return Record(line or base.line, "ledger", f"ledger.{kind}", base.text, source, level, present, base.order)

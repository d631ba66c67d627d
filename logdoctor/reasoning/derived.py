"""Derived events: each stands on the line of the log that shows what a ledger concludes; rules match it by its kind."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Level, Line, Record, Source, Value


def derived(
    kind: str,
    base: Record,
    fields: Mapping[str, Value | None],
    *,
    spoken: bool = True,
    level: Level = "error",
    line: Line | None = None,
) -> Record:
    """The event ``ledger.<kind>`` on the line of ``base``, or another ``line`` of its record.

    Fields that tell nothing are left out.  ``spoken``: it is about who printed the line, where no field names another.
    """
    known = {name: value for name, value in fields.items() if value not in (None, "", ())}
    source = base.source if spoken else Source(time=base.time)
    return Record(line or base.line, "ledger", f"ledger.{kind}", base.text, source, level, known, base.order)

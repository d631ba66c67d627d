"""Derived events: each stands on the line of the log that shows what a ledger concludes; rules match it by its kind."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Event, Level, Line, Speaker, Value


def derived(
    kind: str,
    source: Event,
    fields: Mapping[str, Value | None],
    *,
    spoken: bool = True,
    level: Level = "error",
    line: Line | None = None,
) -> Event:
    """The event ``ledger.<kind>`` on the line of ``source``, or another ``line`` of its record.

    Fields that tell nothing are left out.  ``spoken``: it is about who printed the line, where no field names another.
    """
    known = {name: value for name, value in fields.items() if value not in (None, "", ())}
    speaker = source.speaker if spoken else Speaker(time=source.time)
    return Event(line or source.line, "ledger", f"ledger.{kind}", source.text, speaker, level, known, source.order)

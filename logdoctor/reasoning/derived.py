"""Records that questions derive, each on the log line that shows the conclusion."""

from __future__ import annotations

from msgspec.structs import replace

from logdoctor.model import Record, Source, Value


def derive_record(kind: str, base: Record, /, **fields: Value | None) -> Record:
    """Return a record ``ledger.<kind>`` on the line of ``base``. Empty fields are left out."""
    present = {name: value for name, value in fields.items() if value not in (None, "", ())}
    return Record(base.line, "ledger", f"ledger.{kind}", base.text, base.source, "error", present, base.order)


def derive_of_other(kind: str, base: Record, /, **fields: Value | None) -> Record:
    """Return a record that is not about the process that printed the line of ``base``."""
    return replace(derive_record(kind, base, **fields), source=Source(time=base.time))

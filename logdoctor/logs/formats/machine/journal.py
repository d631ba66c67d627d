r"""Messages that journald exports as numbers.

``journalctl -o json`` gives a field that is no UTF-8 or holds control characters, colours among them, as an array of
bytes (systemd, shared/logs-show.c, ``json_escape`` and SYSTEMD_JSON in docs/JOURNAL_EXPORT_FORMATS).
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    # Never an event: it makes the scan pick the line, and what the array says is then searched like any other line.
    RecordPattern("journal.bytes", r"(?!)", scan=r'"MESSAGE" ?: ?\[ ?\d', often=True),
)

"""What one ledger derives from a text, with the picture of the job that the text gives."""

from __future__ import annotations

from typing import Any

from logdoctor.model import Event
from logdoctor.parsers.line_parser import parse_text
from logdoctor.reasoning.picture import Picture


def derive(ledger: Any, text: str, picture: Picture | None = None) -> list[Event]:
    picture = picture or Picture()
    for event in parse_text(text):
        picture.observe(event)
        ledger.observe(event)
    return ledger.derive(picture)


def by_name(events: list[Event]) -> dict[str, Event]:
    """The first event of each kind, by what the kind is called after ``ledger.``."""
    return {e.kind.partition(".")[2]: e for e in reversed(events)}

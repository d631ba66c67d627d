"""``logdoctor events``: what the parsers make of a log, for authors of rules and for tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logdoctor.cli.complaints import complaints
from logdoctor.cli.rule_options import Rules, own_folders

if TYPE_CHECKING:
    from logdoctor.model import Event


def events(paths: Annotated[list[str], typer.Argument(help="Logs of one job.")], rules: Rules = None) -> None:
    """Print the recognised records of a job as JSON lines: dialect, kind, level, who, fields, text, file and line."""
    from logdoctor.diagnosis import events as events_of

    with complaints():
        for event in events_of(paths, rules=own_folders(rules)):
            typer.echo(json.dumps(_plain(event), ensure_ascii=True))


def _plain(event: Event) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "file": event.line.file,
        "line": event.line.number,
        "kind": event.kind,
        "level": event.level,
    }
    who = {k: getattr(event, k) for k in ("rank", "host", "pid", "time")}
    who |= {k: getattr(event.speaker, k) for k in ("local_rank", "source", "tag")}
    plain |= {k: v for k, v in who.items() if v is not None}
    return {**plain, "fields": dict(event.fields), "text": event.text}

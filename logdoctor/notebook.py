"""A diagnosis in a notebook: the page in a frame of its own, evidence and ranks as tables of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from logdoctor.model import Diagnosis, Evidence, RankRow

if TYPE_CHECKING:
    import pandas as pd

HEIGHT = 640
EVENTS = ("part", "signature", "time", "rank", "host", "file", "line", "text", "why")
RANKS = (
    "rank",
    "role",
    "host",
    "local_rank",
    "pid",
    "gpu",
    "bus_id",
    "last_progress",
    "failure",
    "time",
    "file",
    "line",
    "text",
    "waits_for",
    "never_started",
    "busy_with",
)
_WHOLE = ("rank", "line", "local_rank", "pid", "gpu")


def page_in_a_frame(diagnosis: Diagnosis) -> str:
    """The HTML report in a frame that runs no script and cannot touch the notebook around it."""
    from logdoctor.render import render

    page = escape(render(diagnosis, "html"), quote=True)
    style = f"width: 100%; height: {HEIGHT}px; border: 0"
    return f'<iframe srcdoc="{page}" sandbox title="logdoctor" style="{style}"></iframe>'


def events_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """One row a line that the diagnosis shows; ``part`` says as what: cause, symptom, unexplained, novel, run."""
    return _frame(_shown(diagnosis), EVENTS)


def ranks_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """One row a rank: its part, its place, how far it got, its first failure."""
    return _frame(map(_rank, diagnosis.picture.rank_table), RANKS).set_index("rank")


def _shown(diagnosis: Diagnosis) -> Iterator[dict[str, Any]]:
    for cause in diagnosis.causes:
        yield from (_row("cause", cause.signature, one) for one in cause.evidence)
    for symptom in diagnosis.symptoms:
        yield from (_row("symptom", symptom.signature, one) for one in symptom.evidence)
    yield from (_row("unexplained", None, one) for one in diagnosis.unexplained)
    yield from (_row("novel", None, one.evidence) for one in diagnosis.novel)
    for run in diagnosis.runs:
        yield from (_row("run", run.signature, one) for one in run.evidence)


def _row(part: str, signature: str | None, seen: Evidence) -> dict[str, Any]:
    return {"part": part, "signature": signature, "why": seen.why or None, **_place(seen)}


def _rank(row: RankRow) -> dict[str, Any]:
    known = {name: getattr(row, name, None) for name in RANKS if name not in ("time", "file", "line", "text")}
    failed = row.first_failure
    told = {name: None if value == "" else value for name, value in known.items()}
    return {**(_place(failed) if failed else {}), **told}


def _place(seen: Evidence) -> dict[str, Any]:
    line = seen.line
    return {
        "time": seen.time,
        "rank": seen.rank,
        "host": seen.host,
        "file": line.file,
        "line": line.number,
        "text": line.text,
    }


def _frame(rows: Iterable[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame([*rows], columns=[*columns])
    frame["time"] = pd.to_datetime(pd.to_numeric(frame["time"]), unit="s", errors="coerce")
    for name in _WHOLE:
        if name in frame:
            frame[name] = frame[name].astype("Int64")
    return frame

"""HTML page and data frames of a diagnosis, for notebooks.

IPython shows a diagnosis as its HTML page after `load_ipython_extension`.  `logdoctor.diagnose` calls that function in
a notebook, so ``%load_ext logdoctor`` is needed only for diagnoses that were made elsewhere, for example unpickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from logdoctor.model import Diagnosis, Evidence, RankRow
from logdoctor.model.extras import needs_extra

if TYPE_CHECKING:
    import pandas as pd

HEIGHT = 640
"""Height of the frame in pixels."""
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
_INTEGERS = ("rank", "line", "local_rank", "pid", "gpu")


def load_ipython_extension(shell: Any) -> None:
    """Show every `Diagnosis` in ``shell``, an IPython shell: as its HTML page, in a terminal as the screen."""
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type(Diagnosis, page_in_frame)
    formatters["text/plain"].for_type(Diagnosis, lambda diagnosis, printer, _: printer.text(str(diagnosis)))


def page_in_frame(diagnosis: Diagnosis) -> str:
    """Return the HTML report in a frame. The frame runs no script and cannot touch the notebook around it."""
    from logdoctor.render import render

    page = escape(render(diagnosis, "html"), quote=True)
    style = f"width: 100%; height: {HEIGHT}px; border: 0"
    return f'<iframe srcdoc="{page}" sandbox title="logdoctor" style="{style}"></iframe>'


def events_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """Return a data frame with one row per log line that the diagnosis shows.

    ``part`` is the part of the diagnosis that shows the line: cause, symptom, unexplained, novel or run.
    """
    return _frame(_event_rows(diagnosis), EVENTS)


def ranks_frame(diagnosis: Diagnosis) -> pd.DataFrame:
    """Return the rank table as a data frame with ``rank`` as its index."""
    return _frame(map(_rank_row, diagnosis.job.rank_table), RANKS).set_index("rank")


def _event_rows(diagnosis: Diagnosis) -> Iterator[dict[str, Any]]:
    for cause in diagnosis.causes:
        yield from (_event_row("cause", cause.signature, evidence) for evidence in cause.evidence)
    for symptom in diagnosis.symptoms:
        yield from (_event_row("symptom", symptom.signature, evidence) for evidence in symptom.evidence)
    yield from (_event_row("unexplained", None, evidence) for evidence in diagnosis.unexplained)
    yield from (_event_row("novel", None, novel.evidence) for novel in diagnosis.novel)
    for run in diagnosis.runs:
        yield from (_event_row("run", run.signature, evidence) for evidence in run.evidence)


def _event_row(part: str, signature: str | None, evidence: Evidence) -> dict[str, Any]:
    return {"part": part, "signature": signature, "why": evidence.why or None, **_place(evidence)}


def _rank_row(row: RankRow) -> dict[str, Any]:
    values = {name: getattr(row, name, None) for name in RANKS if name not in ("time", "file", "line", "text")}
    cells = {name: None if value == "" else value for name, value in values.items()}
    return {**(_place(row.first_failure) if row.first_failure else {}), **cells}


def _place(evidence: Evidence) -> dict[str, Any]:
    line = evidence.line
    return {
        "time": evidence.time,
        "rank": evidence.rank,
        "host": evidence.host,
        "file": line.file,
        "line": line.number,
        "text": line.text,
    }


def _frame(rows: Iterable[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    with needs_extra("learn", "there are no data frames"):
        import pandas as pd

    frame = pd.DataFrame([*rows], columns=[*columns])
    frame["time"] = pd.to_datetime(pd.to_numeric(frame["time"]), unit="s", errors="coerce")
    for name in _INTEGERS:
        if name in frame:
            frame[name] = frame[name].astype("Int64")
    return frame

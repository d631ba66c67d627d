"""The last plain line of a program that says in its own words why it ends.

No format knows such a line: ``breakdown of the flux at cell 8123, giving up``. It stands right above the line in which
somebody else reports the end of the program, or at the end of a log in which nothing else fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from logdoctor.logs.headless_traces import Search
from logdoctor.logs.line_parser import LineParser
from logdoctor.model import Candidate, Line, Record, Value
from logdoctor.model.numbers import number
from logdoctor.pack.error_wording import reports_error
from logdoctor.pack.regexes import later

TOLD_EXITS = ("crash.exit",)
"""Kinds that tell the end of another process without a lifecycle sign."""
MAX_ABOVE = 12
"""Lines that may stand between the complaint and the report of the end, printed by other processes."""
MAX_BELOW = 2
"""Plain lines that may stand below the complaint at the end of a log."""
NOTE = "The last words of the program before its end."
_NUMBERS = later(r"\d+")
_WORD = later(r"[A-Za-z]{3}")
_NO_SENTENCE = later(
    r'^\s*(?:[$>#|{"\'\[]|File "|at |\d+ +0x|--?\w)|^\s*[\w.-]{1,60} ?[=:] ?\S{1,60}$|\(core dumped\)'
    r"|: \w*Warning: |`\.?$"
    r"|\b(?:mpirun|mpiexec|srun|process(?:es)?)\b.{0,60}\b(?:exited|terminated|aborted)\b|\bjob aborted\b"
    r"|\b(?:exited without|before) calling \w|\bended prematurely\b|\bexit code\b|\[: error message\]"
    r"|\btypically indicates\b|\bbe sure to include\b"
)
"""Code, settings, help texts, data, and what shells and launchers print."""
_NAME = later(r"^(?:\[[A-Za-z][\w.:-]{0,60}\] )+")
"""Name of a logger before the sentence."""
_LAUNCHER_BLOCK = later(r"^job aborted:\s*$")
"""Head of the report of MS-MPI's and MPICH's old launchers.  The lines below it are theirs."""
_FINAL = later(
    r"(?i)\b(?:giving|gives?|gave) up\b|\b(?:breaks?|broke|broken) down\b|\b(?:breakdown|catastrophic|diverged)\b"
    r"|\b(?:unphysical|blew up|fatal|not finite)\b|\b(?:stopping|aborting|terminating)[.!]*$"
    r"|\b(?:cannot|can't|can not|unable to) (?:continue|go on|proceed)\b"
)
"""Words of an end.  A log that ends with another complaint may just be read while the program goes on."""
KILLS = frozenset({1, 2, 9, 15})
"""Signals by which somebody else ends a process."""
_WHO = later(r"(?i)\b(?:rank|proc(?:ess(?:or)?)?|task|pe)[ #:=]{1,3}(?P<rank>\d{1,7})\b(?! ?of\b)")
_SAYER = later(r"(?i)^\W{0,4}(?:mpi )?(?:rank|proc(?:ess(?:or)?)?|task|pe)[ #:=]{1,3}\d{1,7} ?[]:)>-]{1,3} *")


def find_complaint(file: str, lines: Iterable[Line], search: Search, end: Record | None = None) -> Record | None:
    """Return the last complaint of ``lines``, above the report of ``end`` or at the end of the log without it.

    Of lines that the program itself calls errors, one below the other, the first is the reason of the others. The
    record has the place of ``end`` in the reading order, because both tell the same end.
    """
    above = [line for line in lines if line.text.strip()]
    if any(_LAUNCHER_BLOCK.match(line.text) for line in above[-MAX_ABOVE:]):
        return None
    rest = MAX_BELOW if end is None else MAX_ABOVE
    parser = LineParser(file, search)
    reason: Record | None = None
    for at in range(len(above) - 1, -1, -1):
        line = above[at]
        if not _WORD.search(line.text):
            continue  # a rule of dashes
        known = _read(parser, line, search)
        record = _complaint(parser, line, end, known)
        if reason is not None:
            if record is None or known is None or not known.failing or line.number + 1 != reason.line.number:
                return reason
            reason = record
        elif known is not None and not is_plain(known):
            if end is None or known.format == "progress" or may_be_first_failure(known):
                return None
        elif record is not None:
            if end is None:
                return None if _was_said_before(line, above[:at]) else record
            if known is None or not known.failing:
                return record
            reason = record
        rest -= 1
        if rest < 0:
            return reason
    return reason


def is_own_end(end: Record) -> bool:
    """Return whether ``end`` tells the end of another process, and nobody else ended that process."""
    told = end.reports_end_of_other or end.kind in TOLD_EXITS
    code = end.fields.get("exit_code")
    by_code = -code if isinstance(code, int) and code < 0 else code - 128 if isinstance(code, int) else None
    return told and KILLS.isdisjoint((end.fields.get("signal"), by_code))


def is_plain(record: Record) -> bool:
    """Return whether only the words of a line, or an errno in it, say that something went wrong."""
    return record.format == "generic" or record.kind == "os.other"


def may_be_first_failure(record: Record) -> bool:
    """Return whether the record is a failure that a format knows, and no order to end the job."""
    return record.failing and record.format != "generic" and not record.has("is ended", "job")


def _read(parser: LineParser, line: Line, search: Search) -> Record | None:
    """Return the record of a line that a format knows."""
    raw = line.text.encode()
    records = parser.parse(Candidate(raw, line.number, tuple(search(raw)), lambda: iter(())))
    return next((record for record in records if record.kind != "text.line"), None)


def _complaint(parser: LineParser, line: Line, end: Record | None, known: Record | None) -> Record | None:
    piece = parser.read_pieces(line.number, line.text.encode())[-1]
    source, text = parser.build_source(piece.labels, with_time=True), piece.text.strip()
    level = source.level if known is None else known.level
    if _NO_SENTENCE.search(_NAME.sub("", text)) or level == "warning" or source.level in ("info", "warning"):
        return None
    if not reports_error(text) and (end is None or level not in ("error", "fatal")):
        return None
    if end is None and not _FINAL.search(text):
        return None
    who = _WHO.search(text)
    rank = number(who["rank"]) if who else None
    if source.rank is None:
        source = replace(source, rank=rank if rank is not None or end is None else end.rank)
    if end is not None and source.host is None:
        source = replace(source, host=end.host)
    fields: dict[str, Value] = {
        "message": _SAYER.sub("", text).strip(" *!-="),
        "end": "told" if end is not None else "end of the log",
    }
    if known is not None and known.failing and "message" in known.fields:
        fields["message"] = known.fields["message"]
    if end is not None and end.fields.get("exit_code") not in (None, 0, "0"):
        fields["exit_code"] = end.fields["exit_code"]
    order = end.order if end is not None else -line.number
    return Record(line, "generic", "generic.complaint", text, source, "error", fields, order, note=NOTE)


def _was_said_before(line: Line, above: Sequence[Line]) -> bool:
    """Return whether the line was printed before and the program went on, with other numbers or the same."""
    shapes = Counter(_shape(other) for other in above)
    block = 0
    for other in reversed(above):  # several ranks say it at the end
        if _shape(other) != _shape(line):
            break
        block += 1
    return shapes[_shape(line)] > block


def _shape(line: Line) -> str:
    return str(_NUMBERS.sub("#", line.text))

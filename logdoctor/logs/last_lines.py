"""Last lines of a log that show that the program ended, but not how.

They are a prompt, the times of a command, a result, or the last words of a service that closed in order.

A program in which nothing failed has then ended well. Above the end of a log such lines show nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from logdoctor.logs import lifecycle_signs
from logdoctor.logs.line_parser import read_message
from logdoctor.model import Line, Record
from logdoctor.pack.error_wording import reports_error
from logdoctor.pack.regexes import later

MIN_ROWS = 3
"""Lines of a table: its head, a rule and a row."""
PROMPT = later(
    r"^(?:\([\w./-]{1,60}\) ?){0,2}(?:\[[a-z_][\w.-]{0,31}@[\w.-]{1,64}(?: [^\]]{1,120})?\] ?[$#%]"
    r"|[a-z_][\w.-]{0,31}@[\w.-]{1,64}[: ][^\n$#%]{0,120}[$#%]|(?:ba|z|k)?sh-\d[\d.]{0,4}[$#]|PS [A-Z]:\\[^\n>]{0,160}>"
    r"|[➜❯$](?=\s|$))(?P<command>[^\n]*)$"
)
"""A prompt of a shell: the program above it has ended."""
_NO_COMMAND = later(r"^ *(?:exit|logout)?\s*$")
_GOES_ON = later(
    r"&\s*$|^ *(?:sudo )?(?:(?:kubectl|oc|docker|podman|ray|sky|gcloud|aws)\b.*"
    r"|(?:z?cat|tail|head|less|more|grep|sed|awk|tmux|screen|nohup|sbatch|salloc|qsub|bsub|squeue|watch)(?: |$))"
)
"""A command that only shows a log, or starts a job and does not wait for it."""
_INTERRUPT = later(r"^\s*\^[CZ\\]")
_TIMES = tuple(later(rf"^{name}\s+(?:\d+m)?\d+[.,]\d+s?\s*$") for name in ("real", "user", "sys"))
_TABLE = later(r"^\s*[|│┃+┏┡└╰╭├┣┗╘╒╞].*[|│┃+┓┩┘╯╮┤┫┛╛╕╡]\s*$")
_RULE = later(r"^[\W_]*$")
_RESULT = later(
    r"(?i)^\W{0,4}(?:[\w-]{1,24} ){0,3}?(?:final|overall)\b[^\d\n]{0,60}[:= ]"
    r"-?\d[\d.]*(?:e[+-]?\d+)?\s{0,2}[\w/%]{0,8}$"
)

LINES_BELOW = 5
"""Lines that libraries may print below the last words of a service."""
_SERVICE = r"\b(?:server|service|engine|application|gateway|daemon|api|controller|broker|listener)s?\b[^\n:;,]{0,40}? "
_IN_ORDER = r"(?:gracefully|cleanly|normally|successfully|in order)"
_STOPPED = later(
    r"(?i)^Application shutdown complete|^Finished server process \[\d+\]|^Shutting down: Master$"
    rf"|\bshut(?:ting)? ?down\b.{{0,60}}?\b(?:done|completed?|finished|{_IN_ORDER})\W*$"
    r"|\bclosed etcd server\b|\bstopp(?:ed|ing) (?:all )?\d+ (?:\w+ )?processes\W*$"
    r"|\bFound 0 live models and 0 in-flight\b"
    rf"|{_SERVICE}(?:(?:has|have|is|was) )?(?:been )?(?:stopped|shut ?down|closed)(?: {_IN_ORDER})?\W*$"
    rf"|{_SERVICE}(?:exited|terminated|quit) {_IN_ORDER}\W*$"
)
"""Last words of a service that closed in order."""
_STARTS = later(r"(?i)\b(?:re)?start(?:ed|ing|s)?\b")


def find_end(logs: Iterable[Sequence[Line]]) -> Record | None:
    """Return the last line of a log that shows that the program ended.

    A shell shows it only together with all other shells of the job. The result of one process says nothing of the
    others.
    """
    told = [lines for log in logs if (lines := [line for line in log if line.text.strip()])]
    shells = [_end_in_shell(lines) for lines in told if _commands(lines)]
    if shells:
        return _record("shell.returned", shells[-1]) if all(shells) else None
    timed = [lines[-1] for lines in told if _ends_with_times(lines)]
    if timed:
        return _record("shell.returned", timed[-1])
    if told and all(stopped := [_stop_of_service(lines) for lines in told]):
        return _record("progress.stopped", stopped[-1])
    return _record("progress.result", _result(told[0])) if len(told) == 1 else None


def _commands(lines: Sequence[Line]) -> list[str]:
    prompts = (PROMPT.search(line.text) for line in lines)
    return [prompt["command"] for prompt in prompts if prompt and not _NO_COMMAND.search(prompt["command"])]


def _end_in_shell(lines: Sequence[Line]) -> Line | None:
    """Return the line of the prompt that stands again below a command, if that ran to its own end."""
    prompt = PROMPT.search(lines[-1].text)
    interrupted = any(_INTERRUPT.search(line.text) for line in lines)
    waits = prompt and _NO_COMMAND.search(prompt["command"]) and not _GOES_ON.search(_commands(lines)[-1])
    return lines[-1] if waits and not interrupted else None


def _ends_with_times(lines: Sequence[Line]) -> bool:
    last = lines[-len(_TIMES) :]
    return len(last) == len(_TIMES) and all(form.search(line.text) for form, line in zip(_TIMES, last, strict=True))


def _stop_of_service(lines: Sequence[Line]) -> Line | None:
    """Return the line by which a service says that it closed, if it complained of nothing and did not start again."""
    texts = [read_message(line.text).text for line in lines]
    at = next((n for n in range(len(texts) - 1, -1, -1) if _STOPPED.search(texts[n])), None)
    if at is None or len(texts) - 1 - at > LINES_BELOW or any(map(_STARTS.search, texts[at + 1 :])):
        return None
    return None if any(map(reports_error, texts)) else lines[at]


def _result(lines: Sequence[Line]) -> Line | None:
    """Return the last line of a result or a table of results, if no such was printed before."""
    while lines and _RULE.search(lines[-1].text) and not _TABLE.search(lines[-1].text):
        lines = lines[:-1]
    last = read_message(lines[-1].text).text if lines else ""
    if not (_RESULT.search(last) or _TABLE.search(last)):
        return None
    texts = [read_message(line.text).text for line in lines]
    if _RESULT.search(last):
        return None if any(map(_RESULT.search, texts[:-1])) else lines[-1]
    size = next((n for n, text in enumerate(reversed(texts)) if not _TABLE.search(text)), len(texts))
    above, table = texts[: len(texts) - size], texts[len(texts) - size :]
    return lines[-1] if _is_whole(table) and not any(map(_TABLE.search, above)) else None


def _is_whole(table: Sequence[str]) -> bool:
    """Return whether a table has a number, and is closed below if it is closed above."""
    has_number = any(character.isdecimal() for row in table[1:] for character in row)
    return len(table) >= MIN_ROWS and has_number and bool(_RULE.search(table[0])) == bool(_RULE.search(table[-1]))


def _record(kind: str, line: Line | None) -> Record | None:
    if line is None:
        return None
    message, signs = read_message(line.text), lifecycle_signs().get(kind, ())
    return Record(line, kind.partition(".")[0], kind, message.text, message.source, order=sys.maxsize, signs=signs)

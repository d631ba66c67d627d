"""Log lines below a traceback that show whether the program went on.

Python prints an uncaught exception from the entry point of the script, thread or process on. A traceback that begins
further in was caught there and logged by the program. The program may have ended afterwards. It went on if its logger
reports more work without an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.logs.record_pattern import Message
from logdoctor.pack.regexes import later

MIN_PROGRESS = 5
"""Lines of level info that prove that the program went on. A program that only cleans up prints fewer."""
RETRY_PROGRESS = 3
"""Lines of level info that a retry or a fallback counts for."""
MAX_UNLEVELLED = 20
"""Lines without a log level that are read over."""
_ENTRY_POINTS = frozenset(
    "<module> _run_code _run_module_as_main _run_module_code run_path run_module _bootstrap _bootstrap_inner spawn_main"
    " _main _wrap _process_worker main_func".split()
)
"""Functions with which a program, a thread or a process begins."""
_ENDING = later(
    r"(?i)\b(?:exit|abort|terminat|crash|fatal|kill|shut|die[ds]?\b|giv\w+ up|stop|clos(?:e|ing)|clean|flush|finali[sz]"
    r"|disconnect|destroy|tear|fail|error|exception|traceback|SIG[A-Z]{3,5}\b|signal\b|broken|lost|dead\b|unhealthy"
    r"|unexpected|summary\b)"
)
_RETRY = later(
    r"(?i)\bretr(?:y|ies|ying)\b|\btry(?:ing)? again\b|\battempt \d|\bskipp(?:ing|ed)\b|\bfall(?:ing)? back\b"
    r"|\b(?:continuing|going on|moving on)\b|\bignor(?:ing|ed)\b|\binstead\b"
)


def is_caught(frames: list[str]) -> bool:
    """Return True if the outermost frame shows a caught exception.

    ``frames`` are ``path:function``, outermost first. A traceback from ``fit.py:<module>`` on is uncaught, because a
    program begins there. A traceback from ``mia/store.py:put`` on is caught.
    """
    _, separator, function = frames[0].rpartition(":") if frames else ("", "", "")
    return bool(separator) and function not in _ENTRY_POINTS and "/" not in function


def continues_working(below: Iterator[Message]) -> bool:
    """Return True if the lines report more work before any failure."""
    progress = unlevelled = 0
    for line in below:
        level, text = line.source.level, line.text
        retries = _RETRY.search(text) is not None
        if level in ("error", "fatal") or (not retries and _ENDING.search(text)):
            return False
        if level is None:
            unlevelled += bool(text.strip())
        elif retries:
            progress += RETRY_PROGRESS
        else:
            progress += level == "info"
        if progress >= MIN_PROGRESS or unlevelled > MAX_UNLEVELLED:
            break
    return progress >= MIN_PROGRESS

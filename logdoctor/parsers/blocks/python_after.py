"""Whether a program went on after a traceback that it printed itself.

Python prints an exception that nobody caught from the script's own frame on, or from where a thread or a process
begins.  One that begins further in was caught there, and whoever caught it printed it.  He may have ended the program
then; where its logger tells calmly of more work, it went on.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.parsers.record import Bare
from logdoctor.regexes import later

ENOUGH = 5
"""So many calm lines of a logger are more than a program tells that tidies up."""
AGAIN = 3
"""So many of them is one worth that says that the work is tried again, or done without what failed."""
MOST_STRANGE = 20
"""So many lines that no logger's level stands in front of."""
_OUTERMOST = frozenset(
    "<module> _run_code _run_module_as_main _run_module_code run_path run_module _bootstrap _bootstrap_inner spawn_main"
    " _main _wrap _process_worker main_func".split()
)
"""With these functions a program, a thread or a process begins."""
_ENDING = later(
    r"(?i)\b(?:exit|abort|terminat|crash|fatal|kill|shut|die[ds]?\b|giv\w+ up|stop|clos(?:e|ing)|clean|flush|finali[sz]"
    r"|disconnect|destroy|tear|fail|error|exception|traceback|SIG[A-Z]{3,5}\b|signal\b|broken|lost|dead\b|unhealthy"
    r"|unexpected|summary\b)"
)
_TRIED_AGAIN = later(
    r"(?i)\bretr(?:y|ies|ying)\b|\btry(?:ing)? again\b|\battempt \d|\bskipp(?:ing|ed)\b|\bfall(?:ing)? back\b"
    r"|\b(?:continuing|going on|moving on)\b|\bignor(?:ing|ed)\b|\binstead\b"
)


def caught_within(frames: list[str]) -> bool:
    """Whether the ``frames`` of a traceback (``path:function``, outermost first) begin where no program begins."""
    _, named, function = frames[0].rpartition(":") if frames else ("", "", "")
    return bool(named) and function not in _OUTERMOST and "/" not in function


def went_on(below: Iterator[Bare]) -> bool:
    """Whether the lines ``below`` a traceback tell calmly of more work before anything else goes wrong."""
    calm = strange = 0
    for bare in below:
        level, text = bare.speaker.level, bare.text
        again = _TRIED_AGAIN.search(text) is not None
        if level in ("error", "fatal") or (not again and _ENDING.search(text)):
            return False
        if level is None:
            strange += bool(text.strip())
        elif again:
            calm += AGAIN
        else:
            calm += level == "info"
        if calm >= ENOUGH or strange > MOST_STRANGE:
            break
    return calm >= ENOUGH

"""Reason above the block: the plain line above boilerplate in which a program says why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Said
from logdoctor.pack.error_wording import reports_error
from logdoctor.pack.regexes import later

TELL_ENDS = ("aborts", "end noticed", "process ends")
"""Failure classes of rules that tell an end and no reason."""
NEAREST = 8
"""Plain lines above the block that are read."""
_NO_WORDS = later(r"^\W*$")
_NO_REASON = later(
    r'^\s*(?:File "|at \w|\^|raise\b|#\d)|\bFile "[^"]{1,300}", line \d|\bexit(?:ed)? (?:with )?(?:code|status)\b'
    r"|\b(?:exited|terminated) on signal\b|\b(?:process|job) (?:was )?(?:aborted|killed|terminated)\b|:\s*$"
    r"|^\s*[A-Z][\w ]{1,30}: {2,}\S|\bHYD\w{2,40} \("
)
"""Frames, lines that tell an end themselves, those that only announce the next, and those of launchers."""
_HEAD = later(r"^(?:[\w./()-]{1,60}(?:\[\d+\])?: )?(?:error|fatal|ERROR|FATAL): ")
"""Name and level before the message of a program."""


@asks
def reason_above(scene: Scene) -> Iterator[Answer]:
    """Yield the nearest line above a block that tells no reason in which the process says that something went wrong.

    Of lines that the program itself calls errors, one below the other, the first is the reason of the others.
    """
    rule = scene.rule
    if rule is None or (rule.failure_class not in TELL_ENDS and rule.reason != "above"):
        return
    plain = [*islice((said for said in scene.above() if not _NO_WORDS.match(said.text)), NEAREST)]
    at = next((i for i, said in enumerate(plain) if _reports(said)), None)
    if at is None:
        return
    while at + 1 < len(plain) and all(_is_error(said) for said in plain[at : at + 2]):
        at += 1
    said, text = plain[at], plain[at].text.strip()
    if _NO_REASON.search(text) or scene.is_told(said):
        return
    fact = Fact("reason", "above", text, said.line, said=text)
    yield Answer("reason-above", said, {"reason": text.rstrip(".")}, facts=(fact,))


def _is_error(said: Said) -> bool:
    return said.source.level in ("error", "fatal") and _reports(said)


def _reports(said: Said) -> bool:
    return said.source.level not in ("info", "warning") and reports_error(_HEAD.sub("", said.text))

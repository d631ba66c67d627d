"""Reason above the block: the plain line above boilerplate in which a program says why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from logdoctor.codes.error_wording import reports_error
from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, FactType, Said
from logdoctor.pack.regexes import later

TELL_ENDS = ("aborts", "end noticed", "process ends")
"""Failure classes of rules that tell an end and no reason."""
TELLING: tuple[FactType, ...] = ("name", "path", "address", "version", "size", "count", "code")
"""Sorts of facts with which a block tells a reason of its own."""
NEAREST = 8
"""Plain lines above the block that are read."""
_NO_WORDS = later(r"^\W*$")
_NO_REASON = later(
    r'^\s*(?:File "|at \w|\^|raise\b|#\d)|\bFile "[^"]{1,300}", line \d|\bexit(?:ed)? (?:with )?(?:code|status)\b'
    r"|\b(?:exited|terminated) on signal\b|\b(?:process|job) (?:was )?(?:aborted|killed|terminated)\b"
)
"""Frames, and lines that tell an end themselves."""


@asks
def reason_above(scene: Scene) -> Iterator[Answer]:
    """Yield the nearest line above the block in which the process says that something went wrong.

    Of lines that the program itself calls errors, one below the other, the first is the reason of the others.
    """
    if not _is_boilerplate(scene):
        return
    plain = [*islice((said for said in scene.above() if not _NO_WORDS.match(said.text)), NEAREST)]
    at = next((i for i, said in enumerate(plain) if _reports(said)), None)
    if at is None or _NO_REASON.search(plain[at].text):
        return
    while at + 1 < len(plain) and all(said.source.level in ("error", "fatal") for said in plain[at : at + 2]):
        at += 1
    said, text = plain[at], plain[at].text.strip()
    fact = Fact("reason", "above", text, said.line, said=text)
    yield Answer("reason-above", said, {"reason": text.rstrip(".")}, facts=(fact,))


def _reports(said: Said) -> bool:
    return said.source.level not in ("info", "warning") and reports_error(said.text)


def _is_boilerplate(scene: Scene) -> bool:
    """Return whether the block tells that something ended or did not start, and no reason."""
    if scene.rule is None:
        return False
    if scene.rule.failure_class in TELL_ENDS:
        return True
    return scene.rule.failure_class == "not set up" and not scene.own(*TELLING)

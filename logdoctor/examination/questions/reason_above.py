"""Reason above the block: the plain line above boilerplate in which a program says why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from logdoctor.codes.error_wording import reports_error
from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, FactType
from logdoctor.pack.regexes import later

TELL_ENDS = ("aborts", "end noticed", "process ends")
"""Failure classes of rules that tell an end and no reason."""
TELLING: tuple[FactType, ...] = ("name", "path", "address", "version", "size", "count", "code")
"""Sorts of facts with which a block tells a reason of its own."""
NEAREST = 6
"""Plain lines above the block that are read."""
_NO_WORDS = later(r"^\W*$")
_NO_REASON = later(
    r'^\s*(?:File "|at \w|\^|raise\b|#\d)|\bFile "[^"]{1,300}", line \d|\bexit(?:ed)? (?:with )?(?:code|status)\b'
    r"|\b(?:exited|terminated) on signal\b|\b(?:process|job) (?:was )?(?:aborted|killed|terminated)\b"
)
"""Frames, and lines that tell an end themselves."""


@asks
def reason_above(scene: Scene) -> Iterator[Answer]:
    """Yield the nearest line above the block in which the process says that something went wrong."""
    if not _is_boilerplate(scene):
        return
    plain = (said for said in scene.above() if not _NO_WORDS.match(said.text))
    for said in islice(plain, NEAREST):
        if said.source.level not in ("info", "warning") and reports_error(said.text):
            if not _NO_REASON.search(said.text):
                text = said.text.strip()
                fact = Fact("reason", "above", text, said.line, said=text)
                yield Answer("reason-above", said, {"reason": text.rstrip(".")}, facts=(fact,))
            return


def _is_boilerplate(scene: Scene) -> bool:
    """Return whether the block tells that something ended or did not start, and no reason."""
    if scene.rule is None:
        return False
    if scene.rule.failure_class in TELL_ENDS:
        return True
    return scene.rule.failure_class == "not set up" and len(scene.record.lines) > 1 and not scene.own(*TELLING)

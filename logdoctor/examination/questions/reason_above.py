"""Reason above the block: the plain line right above boilerplate, in which a program says why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact
from logdoctor.pack.regexes import later

BOILERPLATE = ("mpi.launch", "mpi.abort", "mpi.failed", "app.exit")
NEAREST = 4
"""Plain lines above the block that are read."""
_RULE = later(r"^\W*$")
_REASON = later(
    r"(?i)\b(?:error|errno|fail(?:ed|ure)|cannot|can't|could ?n[o']t|unable|denied|refused|mismatch|not found|invalid"
    r"|no such|missing|not allowed|unsupported|too (?:many|few|long|large)|illegal|bad|unknown)\b"
)


@asks
def reason_above(scene: Scene) -> Iterator[Answer]:
    """Yield the nearest line above the block in which the process says that something went wrong."""
    if scene.rule is None or scene.rule.signature not in BOILERPLATE:
        return
    for said in islice((said for said in scene.above() if not _RULE.match(said.text)), NEAREST):
        if _REASON.search(said.text):
            text = said.text.strip()
            fact = Fact("reason", "above", text, said.line, said=text)
            yield Answer("reason-above", said, {"reason": text}, facts=(fact,))
            return

"""Absences: sorts of evidence that were looked for around a proof and not found.

A sentence that states an absence, such as "no line says why", is told only if its sort is among them.
"""

from __future__ import annotations

from logdoctor.examination.questions import Scene
from logdoctor.frames import read_frame
from logdoctor.pack.regexes import later

_NAME = later(r"(?i)\b(?:rank|task|worker|process|node|host)s?[ :=\[#]{1,3}\d")
_REASON = later(
    r"(?i)\b(?:error|errno|fail(?:ed|ure)|cannot|could ?n[o']t|unable|denied|refused|mismatch|not found|invalid|because"
    r"|no such|missing|reason)\b"
)
_SORTS = {"frames": read_frame, "names": _NAME.search, "reason": _REASON.search}


def absences(scene: Scene) -> frozenset[str]:
    """Return the sorts of evidence that no line of the process near the proof shows.

    The lines of the proof itself count for frames and names; a reason stands in another line than the proof.
    """
    near = [said.text for said in (*scene.above(), *scene.below())]
    block = [said.text for said in scene.block()]
    texts = {"frames": [*near, *block], "names": block, "reason": near}
    return frozenset(sort for sort, find in _SORTS.items() if not any(map(find, texts[sort])))

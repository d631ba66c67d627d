"""Absences: sorts of evidence that were looked for around a proof and not found.

A sentence that states an absence, such as "no line says why", is told only if its sort is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from logdoctor.examination.questions import Scene
from logdoctor.frames import read_frame
from logdoctor.model import Said
from logdoctor.model.numbers import numbers_in
from logdoctor.pack.regexes import later

_NAMES = later(
    r"(?i)\b(?:rank|task|worker|process|node|peer)(?:e?s)?[ :=\[(#]{1,3}(\d+(?: ?[,-] ?\d+){0,64})"
    r"|\b(?:host|node|peer)(?:name|s)?[ :=]{1,2}['\"]?([a-z][\w.-]*\d[\w.-]*)"
)
"""Numbers of processes, or the name of a host."""
_REASON = later(
    r"(?i)\b(?:error|errno|fatal|fail(?:ed|ure)|cannot|could ?n[o']t|could not|unable|denied|refused|mismatch|not found"
    r"|invalid|because|due to|caused by|no such|no space|missing|reason)\b"
)
_TOLD_LATER = later(r"(?i)\b(?:errno|because|due to|caused by|reason|denied|no such file|no space left)\b")
"""Words of a reason below a proof, where an error alone is rather its result."""
_SENDER = later(
    r"(?i)\b(?:out of memory|oom(?:[-_ ]?kill\w*)?|memory cgroup|killed process|memory limit|scancel|cancelled"
    r"|preempt\w*|time limit|sent by|sending (?:process|signal)|received signal)\b"
)
_CUT_FRAME = later(r'\.py", line \d')
"""A frame whose beginning the log has lost."""
_DIGITS = later(r"\d+")
NEAR_BELOW = 3
"""Lines below a block that still name the processes of it."""


class Absences:
    """The sorts of evidence that no line of the process near a proof shows. They are looked for when somebody asks."""

    def __init__(self, scene: Scene, found: Iterable[str] = ()) -> None:
        """``found`` are sorts that are known to be shown."""
        self._scene, self._shown = scene, dict.fromkeys(found, True)

    def __contains__(self, sort: object) -> bool:
        if not isinstance(sort, str) or sort not in _SORTS:
            return False
        if sort not in self._shown:
            self._shown[sort] = _SORTS[sort](self._scene)
        return not self._shown[sort]


def _shows_frames(scene: Scene) -> bool:
    texts = (said.text for lines in (scene.block, scene.above(), scene.below()) for said in lines)
    return any(read_frame(text) or _CUT_FRAME.search(text) for text in texts)


def _shows_names(scene: Scene) -> bool:
    """Return whether the block, or a line right below, names another process or host than that of the proof."""
    own = {str(value) for value in (scene.record.rank, scene.record.host) if value is not None}
    texts = (said.text for lines in (scene.block, islice(scene.below(), NEAR_BELOW)) for said in lines)
    return any(name not in own for text in texts for name in _names(text))


def _names(text: str) -> Iterator[str]:
    for match in _NAMES.finditer(text):
        yield from map(str, numbers_in(match[1])) if match[1] else (match[2],)


def _shows_reason(scene: Scene) -> bool:
    """Return whether another line than the proof, and than its repetitions, tells a reason."""
    own = {_without_numbers(said.text) for said in scene.block}
    return _any_other(scene.above(), _REASON.search, own) or _any_other(scene.below(), _TOLD_LATER.search, own)


def _shows_sender(scene: Scene) -> bool:
    """Return whether a line tells who ends processes: the out-of-memory killer, a scheduler, a person."""
    return any(_SENDER.search(said.text) for lines in (scene.above(), scene.below()) for said in lines)


def _any_other(lines: Iterable[Said], find: Callable[[str], object], own: set[str]) -> bool:
    return any(find(said.text) and _without_numbers(said.text) not in own for said in lines)


def _without_numbers(text: str) -> str:
    masked: str = _DIGITS.sub("0", text)
    return masked


_SORTS: Mapping[str, Callable[[Scene], bool]] = {
    "frames": _shows_frames,
    "names": _shows_names,
    "reason": _shows_reason,
    "sender": _shows_sender,
}

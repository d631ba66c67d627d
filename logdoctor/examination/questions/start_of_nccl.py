"""Start of NCCL: the calls that pass an error up name its initialisation, so that no step was made before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Line
from logdoctor.pack.regexes import later

MOST = 12
"""Lines below the block that are read."""
LOST = "net.peer-closed"
"""Failure of which the moment tells more than a guess."""
_TRAIL = later(r"(?:^|[\s/])(?P<file>\w{1,60}\.(?:cc?|cpp|cu)):\d{1,6} -> \d{1,3}\s*$")
_STARTING = ("bootstrap.cc", "init.cc")


@asks
def start_of_nccl(scene: Scene) -> Iterator[Answer]:
    """Yield the files of the initialisation through which the error of the proof went up."""
    if scene.rule is None or scene.rule.signature != LOST or not scene.record.kind.startswith("nccl."):
        return
    found: dict[str, Line] = {}
    for said in islice(scene.below(), MOST):
        trail = _TRAIL.search(said.text, max(0, len(said.text) - 200))
        if trail is None:
            break
        if trail["file"] in _STARTING:
            found.setdefault(trail["file"], said.line)
            base = said
    if found:
        yield Answer("nccl-start", base, {"files": tuple(found)}, lines=(*found.values(),))

"""The stack that belongs to a proof, and the facts that it tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from logdoctor.examination.questions import Scene
from logdoctor.frames import MOST_BETWEEN, SOURCE, Frame, is_stack_line, read_frame, read_stack
from logdoctor.model import Fact, Said
from logdoctor.pack.regexes import later

MOST_GAP = 3
"""Lines between a failure and the stack that its handler prints below, for example ``Backtrace:``."""
_HEAD = later(r"(?i)\W*(?:stack ?trace|back ?trace|call trace|stack|traceback)\b|\s*$|note: ")
_EXCEPTION = "Traceback (most recent call last)"


class Stack(Struct, frozen=True):
    """The frames of a run of lines, the innermost first."""

    frames: tuple[Frame, ...]
    lines: tuple[Said, ...]
    """The lines of the frames, in the order of the log."""
    is_above: bool = False
    """True if it stands above the proof, as the traceback of an exception does."""

    @property
    def named(self) -> tuple[Frame, ...]:
        """Return the frames that are no part of an interpreter or of the C library."""
        return tuple(frame for frame in self.frames if not frame.is_runtime and (frame.function or frame.place))

    @property
    def innermost(self) -> Frame | None:
        return next(iter(self.named), None)

    @property
    def caller(self) -> Frame | None:
        """Return the frame that called the innermost one."""
        return next(iter(self.named[1:]), None)

    @property
    def entry(self) -> Frame | None:
        """Return the outermost function that a native library offers, if it is no caller of the innermost frame."""
        return next((frame for frame in reversed(self.named[2:]) if frame.is_entry), None)

    @property
    def own(self) -> Frame | None:
        """Return the innermost frame of the user's own code."""
        return next((frame for frame in self.named if frame.is_own), None)

    @property
    def library(self) -> Frame | None:
        """Return the innermost frame of a library."""
        return next((frame for frame in self.named if frame.package), None)

    @property
    def hook(self) -> Frame | None:
        """Return the innermost function that stands in for one of the CUDA driver."""
        return next((frame for frame in self.named if frame.is_hook), None)

    def line_of(self, wanted: Frame) -> Said:
        """Return the line that tells a frame."""
        name = wanted.function.rpartition("::")[2] or wanted.place
        return next((said for said in self.lines if name in said.text and read_frame(said.text)), self.lines[0])

    def facts(self) -> Iterator[Fact]:
        """Yield the innermost frame, its caller, the first frame of a library and that of the user's own code."""
        roles = ("innermost", self.innermost), ("caller", self.caller), ("library", self.library), ("own", self.own)
        for role, frame in roles:
            if frame is not None:
                said = self.line_of(frame)
                yield Fact("frame", role, frame.told, said.line, of=frame.package, said=said.text.strip())


def stack_of(scene: Scene) -> Stack | None:
    """Return the stack that belongs to the proof: of its block, else directly above it, else directly below it.

    A traceback stands above its exception, and the handler of a crash prints its stack below.
    """
    block = [*scene.block]
    if frames := _read(block):
        proof = next((at for at, said in enumerate(block) if said.place == "proof"), 0)
        last = max((at for at, said in enumerate(block) if read_frame(said.text)), default=0)
        return Stack(frames, tuple(block), is_above=last < proof)
    above = [*reversed([*_above(scene)])]
    if (frames := _read(above)) and frames[0].shape == "python":
        return Stack(frames, tuple(above), is_above=True)
    below = [*_below(scene)]
    return Stack(frames, tuple(below)) if (frames := _read(below)) else None


def _read(lines: Sequence[Said]) -> tuple[Frame, ...]:
    return read_stack([said.text for said in lines])


def _above(scene: Scene) -> Iterator[Said]:
    """Yield the lines of a traceback above the proof, the nearest first."""
    between = 0
    for said in scene.above():
        if is_stack_line(said.text):
            between = 0
        elif not SOURCE.match(said.text) or between == MOST_BETWEEN:
            return
        else:
            between += 1
        yield said


def _below(scene: Scene) -> Iterator[Said]:
    """Yield the lines of a stack below the proof."""
    lines = [*scene.below()]
    between, begun = 0, False
    for said, below in zip(lines, chain(lines[1:], [None]), strict=False):
        if _EXCEPTION in said.text:
            return
        if is_stack_line(said.text, below.text if below else ""):
            between, begun = 0, True
        elif between == (MOST_BETWEEN if begun else MOST_GAP) or not (SOURCE if begun else _HEAD).match(said.text):
            return
        else:
            between += 1
        yield said

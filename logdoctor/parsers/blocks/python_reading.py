"""What is read of one traceback, and the fields that it becomes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct, field

from logdoctor.model import Level, Value
from logdoctor.parsers.blocks.nccl_lines import passed_on
from logdoctor.parsers.blocks.python_messages import message_fields
from logdoctor.parsers.blocks.python_paths import of_a_library, short_path
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import later

MAX_FRAMES = 12
"""So many of the innermost frames are kept."""
MAX_MESSAGE_CHARS = 4_000
MAX_ASSERTED = 300
_WENT_ON = later(
    r"(?i)^(?!.{0,120}\bimport).{0,120}?(?:\bskipp(?:ing|ed)\b|[,;:.] continuing\b|\bcontinuing with\b|\bmoving on\b"
    r"|\bgoing on with\b|\bignor(?:ing|ed)\b)"
)
_RAISED = later(
    r"\s*raise (?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)\(\s*[frFR]{0,2}(?P<quote>[\"'])(?P<said>[^\n]{8,300}?)(?P=quote)"
)
"""A source line that says with which words it raises what."""
_RAISED_TYPE = later(r"\s*raise (?P<type>(?:[A-Za-z_]\w*\.)*(?P<name>[A-Z]\w*))\(")
_SAYS_NOTHING = frozenset({"Exception", "RuntimeError", "ValueError", "OSError", "AssertionError", "SystemExit"})
"""Types that anything is raised with: without its message such an exception may be of any cause."""


class Lines:
    """The lines below; the last one can be read once more."""

    def __init__(self, below: Iterator[Bare]) -> None:
        """Nothing is read yet."""
        self._below = below
        self.last: Bare | None = None

    def __iter__(self) -> Iterator[Bare]:
        """These lines, from where the reading stands."""
        return self

    def __next__(self) -> Bare:
        """The next line."""
        self.last = next(self._below)
        return self.last

    def back(self) -> None:
        """Read the last line once more."""
        if self.last is not None:
            self._below = chain([self.last], self._below)
            self.last = None


class Reading(Struct):
    """What was read of one traceback so far."""

    frames: list[str] = field(default_factory=list)
    where: str = ""
    own_frame: str = ""
    """The innermost frame of the user's own code."""
    function: str = ""
    lines: list[str] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    evidence: int = 0
    fields: dict[str, Value] = field(default_factory=dict)
    level: Level | None = None
    cut: bool = False
    """The log ends in it."""
    asserted: str = ""
    """The source line of an assertion, and where it stands."""
    asserted_at: int = 0
    raised: str = ""
    """``Type: message`` as the source line of the innermost frame raises it."""
    relayed: bool = False
    """Its frames bear a logger's prefix of level info: another program's output, passed on line by line."""

    def add_frame(self, path: str, line: str, function: str) -> None:
        """Note one frame; the innermost comes last."""
        short = short_path(path)
        self.frames.append(f"{short}:{function}" if function else short)
        self.where = f"{short.rpartition('/')[2]}:{line}" + (f" in {function}" if function else "")
        self.function = function
        if not of_a_library(path):
            self.own_frame = self.where
        self.asserted = self.raised = ""

    def note_source(self, text: str, below: int) -> None:
        """Note a source line under a frame."""
        if text.lstrip().startswith("assert "):
            self.asserted, self.asserted_at = text.strip(), below
            self.raised = f"AssertionError: {self.asserted[:MAX_ASSERTED]}"
        elif raised := _RAISED.match(text):
            self.asserted_at, self.raised = below, f"{raised['type']}: {raised['said']}"
        elif (raised := _RAISED_TYPE.match(text)) and raised["name"] not in _SAYS_NOTHING:
            self.asserted_at, self.raised = below, raised["type"]

    def got_over(self, said: str) -> bool:
        """Whether the line below the exception says that the program goes on without what failed."""
        left_main = not self.frames or self.frames[0].endswith(":<module>")
        if left_main or len(self.lines) != 1 or not _WENT_ON.search(said):
            return False
        self.level = "warning"
        return True

    def close(self) -> Block:
        """The block, with the fields of the record ``python.traceback``."""
        if self.raised and "exception" not in self.fields and "local_rank" not in self.fields:
            self._end_as_raised()
        if self.fields.get("exception") == "AssertionError" and "message" not in self.fields and self.asserted:
            self.fields["message"], self.evidence = self.asserted[:MAX_ASSERTED], self.asserted_at
        if "local_rank" in self.fields and "inner" not in self.fields:
            self.fields["exception"] = ""  # what the spawned process raised is cut off; its parent's type says nothing
        level = self._level()
        frames = " > ".join(self.frames[-MAX_FRAMES:])
        named = {"where": self.where, "own_frame": self.own_frame, "function": self.function, "frames": frames}
        fields = self.fields | {k: v for k, v in named.items() if v}
        fields.setdefault("exception", "")
        before = str(self.fields.get("context", ""))  # vLLM's workers log the message in front of the traceback
        text = "\n".join(self.lines)[:MAX_MESSAGE_CHARS] or f"{before}\nTraceback without its last line {self.where}"
        text = text.strip()
        fields |= message_fields(text)
        return Block(text, fields, tuple(self.taken), self.evidence, level, passes_on=passed_on(text))

    def _end_as_raised(self) -> None:
        """Of a traceback that is cut off, the source line of its innermost frame says how it ends."""
        self.fields["exception"], _, message = self.raised.partition(": ")
        if message:
            self.fields["message"] = message
        self.lines, self.evidence = [self.raised], self.asserted_at

    def _level(self) -> Level:
        if not self.fields.get("exception"):
            return "error" if self.frames or self.cut else "warning"
        if self.relayed:
            return "fatal"
        if self.level in ("warning", "info"):
            self.fields["caught"] = 1
            return "warning"
        return self.level or "fatal"

"""A traceback while it is read, and the fields of its record."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct, field

from logdoctor.frames import is_library, package_of, short_path
from logdoctor.logs.multiline.nccl_lines import quoted_warning
from logdoctor.logs.multiline.python.messages import message_fields
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Level, Value
from logdoctor.pack.regexes import later

MAX_FRAMES = 12
"""Innermost frames that are kept."""
MAX_MESSAGE_CHARS = 4_000
MAX_ASSERTION = 300
MAX_CODE = 120
_RECOVERY = later(
    r"(?i)^(?!.{0,120}\bimport).{0,120}?(?:\bskipp(?:ing|ed)\b|[,;:.] continuing\b|\bcontinuing with\b|\bmoving on\b"
    r"|\bgoing on with\b|\bignor(?:ing|ed)\b)"
)
_RAISE_MESSAGE = later(
    r"\s*raise (?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)\(\s*[frFR]{0,2}(?P<quote>[\"'])(?P<said>[^\n]{8,300}?)(?P=quote)"
)
"""A source line that raises an exception with a literal message."""
_RAISE_TYPE = later(r"\s*raise (?P<type>(?:[A-Za-z_]\w*\.)*(?P<name>[A-Z]\w*))\(")
_GENERIC_TYPES = frozenset({"Exception", "RuntimeError", "ValueError", "OSError", "AssertionError", "SystemExit"})
"""Types that programs raise for any cause. Without a message they say nothing."""


class Lines:
    """The lines below a head. The last line can be read again."""

    def __init__(self, below: Iterator[Message]) -> None:
        self._below = below
        self.last: Message | None = None

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        self.last = next(self._below)
        return self.last

    def push_back(self) -> None:
        """Make the last line the next line again."""
        if self.last is not None:
            self._below = chain([self.last], self._below)
            self.last = None


class Traceback(Struct):
    """The parts of a traceback read so far."""

    frames: list[str] = field(default_factory=list)
    where: str = ""
    own_frame: str = ""
    """The innermost frame of the user's own code."""
    own_code: str = ""
    """The source line of that frame."""
    package: str = ""
    """The package of the innermost frame, if it is a library's."""
    function: str = ""
    lines: list[str] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    evidence: int = 0
    fields: dict[str, Value] = field(default_factory=dict)
    level: Level | None = None
    is_cut: bool = False
    """The log ends inside the traceback."""
    assertion: str = ""
    """The source line of an assertion."""
    source_at: int = 0
    """Number (`Message.below`) of the source line with the assertion or the ``raise`` statement."""
    raise_text: str = ""
    """``Type: message`` in the ``raise`` statement of the innermost frame."""
    is_relayed: bool = False
    """The frames carry a logger's prefix of level info. So a launcher passed on the output of its process."""
    wrapped: int = 0
    """First lines of the message that a console broke at a blank."""

    def add_frame(self, path: str, line: str, function: str) -> None:
        """Add a frame. The innermost frame comes last."""
        short = short_path(path)
        self.frames.append(f"{short}:{function}" if function else short)
        self.where = f"{short.rpartition('/')[2]}:{line}" + (f" in {function}" if function else "")
        self.function = function
        self.package = package_of(path)
        if not is_library(path):
            self.own_frame, self.own_code = self.where, ""
        self.assertion = self.raise_text = ""

    def add_source(self, text: str, below: int) -> None:
        """Keep an assertion or ``raise`` statement under a frame, and the source line of the user's own code."""
        if self.own_frame == self.where and not self.own_code:
            self.own_code = text.strip()[:MAX_CODE]
        if text.lstrip().startswith("assert "):
            self.assertion, self.source_at = text.strip(), below
            self.raise_text = f"AssertionError: {self.assertion[:MAX_ASSERTION]}"
        elif match := _RAISE_MESSAGE.match(text):
            self.source_at, self.raise_text = below, f"{match['type']}: {match['said']}"
        elif (match := _RAISE_TYPE.match(text)) and match["name"] not in _GENERIC_TYPES:
            self.source_at, self.raise_text = below, match["type"]

    def mark_recovered(self, text: str) -> bool:
        """Return True if the next line says that the program continues.

        ``skipping this file`` or ``continuing without cache``, for example. The level is then warning.
        """
        is_main = not self.frames or self.frames[0].endswith(":<module>")
        if is_main or len(self.lines) != 1 or not _RECOVERY.search(text):
            return False
        self.level = "warning"
        return True

    def close(self) -> Multiline:
        """Return the multi-line record with the fields of ``python.traceback``."""
        if self.raise_text and "exception" not in self.fields and "local_rank" not in self.fields:
            self._use_raise_statement()
        if self.fields.get("exception") == "AssertionError" and "message" not in self.fields and self.assertion:
            self.fields["message"], self.evidence = self.assertion[:MAX_ASSERTION], self.source_at
        if "local_rank" in self.fields and "inner" not in self.fields:
            # The exception of the spawned process is cut off, and the type that its parent raises says nothing.
            self.fields["exception"] = ""
        self._continue_message()
        level = self._level()
        frames = " > ".join(self.frames[-MAX_FRAMES:])
        frame_fields = {
            "where": self.where,
            "own_frame": self.own_frame,
            "own_code": self.own_code,
            "package": self.package,
            "function": self.function,
            "frames": frames,
        }
        fields = self.fields | {k: v for k, v in frame_fields.items() if v}
        fields.setdefault("exception", "")
        context = str(self.fields.get("context", ""))  # vLLM's workers log the message before the traceback
        text = "\n".join(self.lines)[:MAX_MESSAGE_CHARS] or f"{context}\nTraceback without its last line {self.where}"
        text = text.strip()
        fields |= message_fields(text)
        return Multiline(text, fields, tuple(self.taken), self.evidence, level, quoted_line=quoted_warning(text))

    def _use_raise_statement(self) -> None:
        """End a cut traceback with its innermost frame's ``raise`` statement."""
        self.fields["exception"], _, message = self.raise_text.partition(": ")
        if message:
            self.fields["message"] = message
        self.lines, self.evidence = [self.raise_text], self.source_at

    def _continue_message(self) -> None:
        """Add what stands below to a message that ends with a colon, or that a console broke at a blank."""
        message = str(self.fields.get("message", ""))
        more = self.wrapped or (1 if message.endswith(":") else 0)
        if more and self.lines[0].endswith(message):
            below = (line.strip() for line in self.lines[1 : more + 1])
            self.fields["message"] = " ".join((message, *below))[:1_000]

    def _level(self) -> Level:
        if not self.fields.get("exception"):
            return "error" if self.frames or self.is_cut else "warning"
        if self.is_relayed:
            return "fatal"
        if self.level in ("warning", "info"):
            self.fields["caught"] = 1
            return "warning"
        return self.level or "fatal"

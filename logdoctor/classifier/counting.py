"""What the classifier remembers of a job while its events stream by: little, and bounded."""

from __future__ import annotations

from collections import deque

from logdoctor.model import Event

FIRST_KEPT = 48
"""Failures at the start of trouble tell most; so many are kept whole."""
LATEST_KEPT = 16
WARNINGS_KEPT = 24
PLAIN_KEPT = 24
KINDS_KEPT = 200
VOICES_KEPT = 4
TEXT_KEPT = 1000
"""Characters of a message that count."""

Told = tuple[str, str, str, str]
"""dialect, kind, level and the head of the text of an event."""


class FeatureCounter:
    """Keeps the first and latest failures, the first warnings and plain lines, and the kinds of all else.

    It is fed on every event of a log, so `observe` does next to nothing; `features` hashes later.
    """

    def __init__(self) -> None:
        """Start with no event seen."""
        self._first: list[Told] = []
        self._latest: deque[Told] = deque(maxlen=LATEST_KEPT)
        self.warnings: list[Told] = []
        self.plain: list[Told] = []
        """Lines of no dialect, of which a rule wants to know."""
        self.kinds: set[str] = set()
        self.voices: set[int] = set()
        """The first ranks that told of a failure."""
        self.phase = ""
        """What was known of the job when trouble began: ``silent``, ``begun`` or ``running``."""

    @property
    def failures(self) -> list[Told]:
        """The failures that were kept, in the order of the log."""
        return [*self._first, *self._latest]

    def observe(self, event: Event) -> None:
        """Take one event in."""
        if event.failing:
            self._observe_failure(event)
        elif event.level == "warning":
            if len(self.warnings) < WARNINGS_KEPT:
                self.warnings.append(_told(event))
        elif event.dialect == "text":
            if len(self.plain) < PLAIN_KEPT:
                self.plain.append(_told(event))
        elif event.kind not in self.kinds and len(self.kinds) < KINDS_KEPT:
            self.kinds.add(event.kind)

    def _observe_failure(self, event: Event) -> None:
        if not self.phase:
            self.phase = "running" if "progress.step" in self.kinds else "begun" if self.kinds else "silent"
        if event.rank is not None and len(self.voices) < VOICES_KEPT:
            self.voices.add(event.rank)
        (self._first if len(self._first) < FIRST_KEPT else self._latest).append(_told(event))


def _told(event: Event) -> Told:
    return event.dialect, event.kind, event.level, event.text[:TEXT_KEPT]

"""Records of a job that the classifier uses, in bounded memory."""

from __future__ import annotations

from collections import deque

from logdoctor.model import Record

MAX_FIRST = 48
"""More first than latest failures are kept, because the first ones say most about the cause."""
MAX_LATEST = 16
MAX_WARNINGS = 24
MAX_PLAIN = 24
MAX_KINDS = 200
MAX_RANKS = 4
MAX_TEXT = 1000
"""Characters of a message."""

RecordHead = tuple[str, str, str, str]
"""Format, kind, level and first characters of the text of a record."""


class FeatureCounter:
    """Keeps the records of a job that matter to the classifier.

    These are the first and the latest failures, and the first warnings and plain lines.  Of other records only the
    kinds are kept.  `observe` is called for every record of a log, so it must be fast.  Words are split and hashed
    later.
    """

    def __init__(self) -> None:
        self._first: list[RecordHead] = []
        self._latest: deque[RecordHead] = deque(maxlen=MAX_LATEST)
        self.warnings: list[RecordHead] = []
        self.plain: list[RecordHead] = []
        """Lines of no known format that a rule searches."""
        self.kinds: set[str] = set()
        self.failing_ranks: set[int] = set()
        """The first ranks that reported a failure."""
        self.phase = ""
        """State of the job at its first failure: ``silent``, ``begun`` or ``running``."""

    @property
    def failures(self) -> list[RecordHead]:
        """The first and the latest failures, in the order of the log."""
        return [*self._first, *self._latest]

    def observe(self, record: Record) -> None:
        if record.failing:
            self._observe_failure(record)
        elif record.level == "warning":
            if len(self.warnings) < MAX_WARNINGS:
                self.warnings.append(_head(record))
        elif record.format == "text":
            if len(self.plain) < MAX_PLAIN:
                self.plain.append(_head(record))
        elif record.kind not in self.kinds and len(self.kinds) < MAX_KINDS:
            self.kinds.add(record.kind)

    def _observe_failure(self, record: Record) -> None:
        if not self.phase:
            self.phase = "running" if "progress.step" in self.kinds else "begun" if self.kinds else "silent"
        if record.rank is not None and len(self.failing_ranks) < MAX_RANKS:
            self.failing_ranks.add(record.rank)
        (self._first if len(self._first) < MAX_FIRST else self._latest).append(_head(record))


def _head(record: Record) -> RecordHead:
    return record.format, record.kind, record.level, record.text[:MAX_TEXT]

"""Compare the sources of two lines by their prefixes."""

from __future__ import annotations

from logdoctor.logs.prefix_stripping import IDENTITY, Labels, Stripped

_CONFLICTING = ("rank", "local_rank", "host", "pid")
_DOUBTFUL = {"task", "host"}


def match_source(head: Stripped, line: Stripped) -> tuple[str, Labels] | None:
    """Return text and labels of ``line`` if both sources may match.

    The prefix of a launcher stands on every line, so both lines must carry the same one.  The prefix of a logger stands
    only on the first line of a record.  It may be missing below, but must not name another process.
    """
    # A piece without outer variants has its labels from the piece before it.
    doubtful = line.outer_variants and line.line_labels and line.line_labels.keys() <= _DOUBTFUL
    if not head.line_labels and doubtful and line.printed[:1] not in "[({<":
        return line.outer_variants[0]  # "3: " belongs to the message, because the head line has no such prefix
    if head.line_labels != line.line_labels and not _may_be_same(head, line):
        return None
    if any(
        head.labels.get(name, value) != value for name in _CONFLICTING if (value := line.labels.get(name)) is not None
    ):
        return None
    return line.text, line.labels


def _may_be_same(head: Stripped, line: Stripped) -> bool:
    for name in IDENTITY:
        head_value, value = head.line_labels.get(name), line.line_labels.get(name)
        if head_value == value:
            continue
        if head_value is None and value == head.labels.get(name):
            continue
        if value is None and not line.text.strip():
            continue
        return False
    return True

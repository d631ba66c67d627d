"""Whether a line below a record's head was printed by the same process, as far as the prefixes tell."""

from __future__ import annotations

from logdoctor.parsers.peeling import IDENTITY, Peeled, Who

_CLASHING = ("rank", "local_rank", "host", "pid")
_DOUBTFUL = {"task", "host"}


def as_said_by(head: Peeled, line: Peeled) -> tuple[str, Who] | None:
    """The bare text of ``line`` and who said it, if that may be the speaker of ``head``; else None.

    A launcher's prefix stands on every line, so it must be the same.  A logger's stands at the head of a record only:
    it may be missing below, but must not name another.
    """
    doubtful = line.before and line.steady and line.steady.keys() <= _DOUBTFUL  # a piece has it from the piece before
    if not head.steady and doubtful and line.printed[:1] not in "[({<":
        return line.before[0]  # "3: " or "node7: " in a log whose lines are not numbered belongs to the text
    if head.steady != line.steady and not _may_be_same(head, line):
        return None
    if any(head.who.get(name, said) != said for name in _CLASHING if (said := line.who.get(name)) is not None):
        return None
    return line.text, line.who


def _may_be_same(head: Peeled, line: Peeled) -> bool:
    for name in IDENTITY:
        mine, theirs = head.steady.get(name), line.steady.get(name)
        if mine == theirs:
            continue
        if mine is None and theirs == head.who.get(name):
            continue
        if theirs is None and not line.text.strip():
            continue
        return False
    return True

"""List of the inputs of a job, each with how much of it was read."""

from __future__ import annotations

from logdoctor.model.coverage import MAX_INPUTS, InputRead


class Inventory:
    """Inputs in reading order.

    At most `MAX_INPUTS` are kept. Those that may hold unread evidence are kept before the others.
    """

    def __init__(self) -> None:
        self.count = 0
        self._unread: list[tuple[int, InputRead]] = []
        self._others: list[tuple[int, InputRead]] = []

    def add(self, source: InputRead) -> None:
        kept = self._unread if source.matters else self._others
        if len(kept) < MAX_INPUTS:
            kept.append((self.count, source))
        self.count += 1

    def listed(self) -> tuple[InputRead, ...]:
        kept = sorted((*self._unread, *self._others[: MAX_INPUTS - len(self._unread)]), key=lambda pair: pair[0])
        return tuple(source for _, source in kept)

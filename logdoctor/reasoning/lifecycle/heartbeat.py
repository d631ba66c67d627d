"""Signs of life of a program that no format knows: lines of one form whose number grows.

A table that is printed in one piece has such lines too. So other lines must stand between them, or they are many.
A heartbeat says that the program lived. It refutes no failure.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from logdoctor.pack.regexes import later

BEATS = 5
MANY = 50
"""Lines of one form that are no table, even if nothing stands between them."""
MAX_FORMS = 2000
MAX_LENGTH = 400
_NUMBER = later(r"\d+(?:\.\d+)?")


class _Form(Struct):
    """Lines of one form, with the numbers of the last one.

    ``grows`` marks the numbers that never fell.
    """

    last: tuple[float, ...]
    at: int
    grows: list[bool]
    beats: int = 1
    apart: int = 0

    def add(self, numbers: tuple[float, ...], at: int) -> None:
        pairs = [*zip(self.last, numbers, strict=True)]
        self.grows = [grows and before <= now for grows, (before, now) in zip(self.grows, pairs, strict=True)]
        self.beats += any(grows and before < now for grows, (before, now) in zip(self.grows, pairs, strict=True))
        self.apart += at > self.at + 1
        self.last, self.at = numbers, at

    @property
    def lives(self) -> bool:
        return any(self.grows) and self.beats >= BEATS and (self.apart >= BEATS - 1 or self.beats >= MANY)


def has_heartbeat(lines: Iterable[str]) -> bool:
    """Return whether lines of one form count upwards.

    The first number may name a process, so its lines are also taken on their own.
    """
    forms: dict[tuple[str, str], _Form] = {}
    for at, line in enumerate(lines):
        text = line[:MAX_LENGTH]
        found = _NUMBER.findall(text)
        if not found:
            continue
        numbers, masked = tuple(map(float, found)), _NUMBER.sub("#", text)
        for key in ((masked, ""), (masked, found[0])):
            form = forms.get(key)
            if form is not None:
                form.add(numbers, at)
                if form.lives:
                    return True
            elif len(forms) < MAX_FORMS:
                forms[key] = _Form(numbers, at, [True] * len(numbers))
    return False

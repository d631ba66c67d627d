"""What we know: rules, their symptoms, words and examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from logdoctor.model.log import Level, Scalar

Action = Literal["stop", "retry", "exclude", "none"]
"""What to do with the job: fix first, start again as is, drain the named part and start again, nothing."""

Strength = Literal["proof", "strong", "likely", "hint"]

Role = Literal["cause", "symptom", "fallback", "benign"]


class Symptom(Struct, frozen=True):
    """What ONE event looks like: every condition given must hold.

    ``text`` is a regular expression searched in `Event.text`; ``kind`` and ``dialect`` are glob patterns; a field
    condition is a regular expression (full match) or a list of values.
    """

    name: str
    text: str | None = None
    kind: str | None = None
    dialect: str | None = None
    level: tuple[Level, ...] = ()
    fields: tuple[tuple[str, tuple[Scalar, ...] | str], ...] = ()


class Example(Struct, frozen=True):
    """A log that a rule must diagnose (``truth`` is its signature) or must not (``truth`` names what it is)."""

    log: str
    truth: str
    because: str = ""
    finds: tuple[tuple[str, Scalar], ...] = ()
    line: int = 0


class Words(Struct, frozen=True):
    """What a person reads, in one language; ``{name}`` and ``{name|default}`` are filled in from the finding."""

    title: str
    cause: str
    remedy: tuple[str, ...]


InLanguages = tuple[tuple[str, Words], ...]


def packed(words: InLanguages) -> bytes:
    """The words as `Rule.packed_words` holds them."""
    return msgspec.msgpack.encode(words)


class Rule(Struct, frozen=True):
    """One failure signature and how to know it.  See docs/rules.md for every key.

    ``id`` is the path below the rules folder (``net/ib-completion`` -> ``net.ib-completion``); ``signature`` is what is
    reported and differs from ``id`` for variants only.  ``when`` is the condition table as loaded.  ``culprit`` says
    which field names the guilty ``ranks``, ``hosts``, ``gpus``, ``peers`` (``speaker``: who printed the decisive line).
    """

    id: str
    signature: str
    action: Action
    role: Role
    strength: Strength
    packed_words: bytes
    symptoms: tuple[Symptom, ...]
    when: Mapping[str, Any]
    culprit: Mapping[str, str] = field(default_factory=dict)
    explains: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    near_misses: tuple[Example, ...] = ()
    path: str = ""
    outlived: str = "by progress"
    """What printed after it says that it was none: ``by progress``, only ``by a good end`` (it ended the job, and steps
    below it were printed before), or ``never`` (what goes on is wrong)."""

    @property
    def words(self) -> InLanguages:
        """What a person reads, by language; unpacked when it is asked for, since of hundreds of rules one speaks."""
        return msgspec.msgpack.decode(self.packed_words, type=InLanguages)

    def say(self, lang: str) -> Words:
        """The rule's words in ``lang``, else in English."""
        table = dict(self.words)
        return table.get(lang) or table["en"]

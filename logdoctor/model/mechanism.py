"""Failure classes, and which class of failure brings about which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from logdoctor.model.claims import Claim

Who = Literal[
    "your code",
    "your data",
    "your settings",
    "framework",
    "gpu-or-driver",
    "fabric",
    "host",
    "storage",
    "scheduler",
    "a-person",
    "not-told",
]
"""Part or person that has to change something, see `Owner.who`."""
Side = Literal["own", "seen"]
"""``own``: it took place inside the guilty process, device or host. ``seen``: others see it from outside."""
Where = Literal["process", "device", "host", "group", "peers", "launcher", "job"]
"""Place in which one failure brings about another."""


class FailureClass(Struct, frozen=True):
    """A way to fail that many signatures share.  See the head of ``rules/failure_classes.tsv``."""

    id: str
    side: Side
    scope: str
    ends: Literal["yes", "mostly", "no"]
    """Tells if a failure of this class ends its process."""
    owner: tuple[Who | Literal["frames"], ...] = ()
    claims: tuple[Claim, ...] = ()


class Arrow(Struct, frozen=True):
    """A row of ``rules/mechanism.tsv``: one class of failure brings about another."""

    source: str
    target: str
    where: Where
    within: float | None = None
    """Most seconds between the two, if both have a time."""


class Mechanism(Struct, frozen=True):
    """The tables of mechanism of all rule folders."""

    classes: Mapping[str, FailureClass] = field(default_factory=dict)
    arrows: tuple[Arrow, ...] = ()
    wider: Mapping[str, str] = field(default_factory=dict)
    """The wider signature of each signature that is a kind of another."""

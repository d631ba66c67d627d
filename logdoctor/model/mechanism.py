"""Failure classes, and which class of failure brings about which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct, field

from logdoctor.model.rule import Who

Side = Literal["own", "seen"]
"""``own``: it took place inside the guilty process, device or host. ``seen``: others see it from outside."""
Where = Literal["process", "device", "host", "group", "peers", "launcher", "job"]
"""Place in which one failure brings about another."""


ClaimName = Literal[
    "ended",  # the process ended, by one of these signals or exit codes if any are named
    "uncaught",  # an exception ended its process
    "first",  # no other process failed before
    "others",  # another process failed before
    "everyone",  # all ranks that speak show it
    "some",  # some ranks show it, and not all
    "alone",  # one rank shows it
    "waited",  # others waited for the culprit, who did not wait
    "call",  # the lines are of one group, operation and number
    "peer",  # the other side ended
    "device",  # the failures of devices lie at one device
    "host",  # the failures of machines lie at one host
    "told",  # somebody tells it who can know
    "time",  # its lines are of the time of the job
    "version",  # the version in the log is in a range
    "none",  # no line speaks against it
]
CLAIMS: tuple[ClaimName, ...] = get_args(ClaimName)


class Claim(Struct, frozen=True):
    """What must be true of the job if an answer is right.  Written as ``ended:9|137``."""

    name: ClaimName
    wanted: str = ""


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

"""Claims that must be true of the job if an answer is right."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

ClaimName = Literal[
    "ended",  # the process ended, by one of these signals or exit codes if any are named
    "uncaught",  # an exception ended its process
    "gave_up",  # the program gave up by it and did not fall back on something else
    "first",  # no other process failed before
    "others",  # another process failed before
    "waited",  # others waited for the culprit, who did not wait
    "call",  # the lines are of one group, operation and number
    "peer",  # the other side ended
    "device",  # the failures of devices lie at one device
    "host",  # the failures of machines lie at one host
    "told",  # somebody tells it who can know
    "time",  # its lines are of the time of the job
]
CLAIMS: tuple[ClaimName, ...] = get_args(ClaimName)


class Claim(Struct, frozen=True):
    """Claim that must be true of the job if an answer is right.  Written as ``ended:9|137``."""

    name: ClaimName
    wanted: str = ""

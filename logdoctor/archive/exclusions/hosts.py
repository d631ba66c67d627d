"""A host a line: ``sbatch --exclude=$(paste -sd, FILE)``, or the hostfile of another scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.exclusions import names


def render(hosts: Sequence[BadHost]) -> str:
    return "".join(f"{name}\n" for name in names(hosts))

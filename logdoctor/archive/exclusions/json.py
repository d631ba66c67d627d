"""All that is known of each sick host and GPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.exclusions import reason
from logdoctor.archive.record import day_of


def rows(hosts: Sequence[BadHost]) -> list[dict[str, Any]]:
    return [
        {
            "host": host.host,
            "gpu": host.gpu,
            "reason": reason(host),
            "failures": host.failures,
            "jobs": host.jobs,
            "expected": round(host.expected, 3),
            "confidence": round(1 - host.chance, 4),
            "first": day_of(host.first),
            "last": day_of(host.last),
            "signatures": dict(host.signatures),
            "decisions": dict(host.decisions),
            "examples": [*host.examples[:10]],
        }
        for host in hosts
    ]


def render(hosts: Sequence[BadHost]) -> str:
    return json.dumps(rows(hosts), indent=1) + "\n"

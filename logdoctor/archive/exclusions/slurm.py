"""Commands that drain the hosts, with the reason. They are printed and not run."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.exclusions import names, reason


def render(hosts: Sequence[BadHost]) -> str:
    lines = []
    for name in names(hosts):
        why = "; ".join(reason(host) for host in hosts if host.host == name)
        lines.append(f"scontrol update nodename={quote(name)} state=drain reason={quote(f'logdoctor: {why}')}\n")
    return "".join(lines)

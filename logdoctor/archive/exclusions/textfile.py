"""Metrics for the textfile collector of node_exporter."""

from __future__ import annotations

from collections.abc import Sequence

from logdoctor.archive.bad_hosts import BadHost

NAME = "logdoctor_sick_host_failures"
HEAD = f"""\
# HELP {NAME} Jobs in which the host or its GPU was the culprit, if they are too many for chance.
# TYPE {NAME} gauge
"""


def render(hosts: Sequence[BadHost]) -> str:
    lines = (
        f"{NAME}{{host={_label(host.host)},gpu={_label(host.gpu)},signature={_label(name)}}} {count}\n"
        for host in hosts
        for name, count in host.signatures
    )
    return HEAD + "".join(lines)


def _label(value: str) -> str:
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'

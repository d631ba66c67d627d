"""Lists of sick hosts: each module has a function ``render(hosts)`` that returns a text.

The name of the module is the name of the format.  A host is named by the logs, so each format quotes it for its reader.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.record import day_of
from logdoctor.pack.module_names import module_names

Render = Callable[[Sequence[BadHost]], str]


def list_formats() -> list[str]:
    return module_names(__path__)


def load_renderer(name: str) -> Render:
    render: Render = importlib.import_module(f"{__name__}.{name}").render
    return render


def reason(host: BadHost) -> str:
    """Return why the host is on the list: ``cuda.ecc x4 in 30 jobs, 2026-11-02 to 2026-11-20, GPU 3``."""
    causes = ", ".join(f"{signature} x{count}" for signature, count in host.signatures)
    days = " to ".join(dict.fromkeys(filter(None, (day_of(host.first), day_of(host.last)))))
    gpu = f"GPU {host.gpu}" if host.gpu else ""
    return ", ".join(filter(None, (f"{causes} in {host.jobs} jobs", days, gpu)))


def names(hosts: Sequence[BadHost]) -> list[str]:
    """Return each host once, the one that stands out most first."""
    return [*dict.fromkeys(host.host for host in hosts)]

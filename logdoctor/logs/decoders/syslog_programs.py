"""Program names in syslog and journal lines."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Source
from logdoctor.pack.regexes import later

_DAEMONS = later(
    r"slurm|srun$|sbatch$|salloc$|systemd|nv-|nvidia|dcgm|earlyoom|kubelet|docker|containerd|dmeventd|mcelog|rasdaemon"
    r"|opensm|sshd|nfs|lustre|automount|multipathd|smartd|ipmi|abrt|sssd"
)
"""Daemons whose name stays in front of the message, because it says as much as the message.

The names of the kernel and of the programs of a job are removed.
"""


def add_program(program: str, pid: str, message: str) -> str:
    """Put ``program[pid]: `` in front of the message of a daemon."""
    if not _DAEMONS.match(program):
        return message
    return f"{program}[{pid}]: {message}" if pid.isdecimal() else f"{program}: {message}"


def read_program(groups: Mapping[str, str], rest: str) -> tuple[str, Source]:
    """Return the message of a syslog line, see `add_program`."""
    return add_program(groups.get("logger", ""), groups.get("pid", ""), rest), Source()

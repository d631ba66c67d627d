"""Who wrote a line of syslog or of the journal, and whose name stays in front of the message."""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Speaker
from logdoctor.regexes import later

_TELLING = later(
    r"slurm|srun$|sbatch$|salloc$|systemd|nv-|nvidia|dcgm|earlyoom|kubelet|docker|containerd|dmeventd|mcelog|rasdaemon"
    r"|opensm|sshd|nfs|lustre|automount|multipathd|smartd|ipmi|abrt|sssd"
)
"""Daemons whose name says as much as their message: it stays visible.  The kernel's and a job's own do not."""


def with_program(program: str, pid: str, message: str) -> str:
    """The message, behind ``program[pid]: `` where the program's name is part of what is said."""
    if not _TELLING.match(program):
        return message
    return f"{program}[{pid}]: {message}" if pid.isdecimal() else f"{program}: {message}"


def read_program(groups: Mapping[str, str], rest: str) -> tuple[str, Speaker]:
    """The rest of a line of syslog."""
    return with_program(groups.get("source", ""), groups.get("pid", ""), rest), Speaker()

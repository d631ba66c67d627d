r"""Commands that somebody typed at a prompt and pasted along with the log.

Kind and field: ``shell.prompt`` command: a tool that looks at the machine it runs on; the prompt names the host.
Launchers are left out: they are typed on login nodes.
"""

from __future__ import annotations

from logdoctor.parsers.record import Record

_TOOLS = r"(?:nvidia-smi|dmesg|ibstat|ibv_devinfo|ibdev2netdev|journalctl|lspci|lsmod)"

RECORDS: tuple[Record, ...] = (
    Record(
        "shell.prompt",
        rf"^\[?[a-z_][\w.-]{{0,31}}@(?P<by_host>[A-Za-z][\w.-]{{0,63}})(?:[ :][^\n]{{0,80}}?)?\]? ?[$%#] (?:sudo )?"
        rf"(?P<command>{_TOOLS})\b",
        level="info",
        priority=-3,
        scan=rf"[$%#] (?:sudo )?{_TOOLS}",
        note="A command typed at a shell's prompt.",
    ),
)

"""Numbers in the messages of Python exceptions.

They name workers, processes, signals, exit codes and errno.

Sources: `torch/utils/data/dataloader.py` and `_utils` (1.0 to 2.9), `torch/multiprocessing/spawn.py`,
`torch/distributed/elastic/multiprocessing/api.py`, CPython `Lib/subprocess.py` and `OSError`,
`python/ray/exceptions.py` (RayTaskError repeats a task's exception, RayActorError names the actor that died),
`torch_npu` (PID, device, rank), `horovod/runner/gloo_run.py` (rank and exit code of the first process that ended).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.logs.signals import signal_number
from logdoctor.logs.windows_codes import posix_exit_code
from logdoctor.model import Value
from logdoctor.model.numbers import number, number_fields, numbers_in
from logdoctor.pack.regexes import later

_PATTERNS = tuple(
    later(pattern)
    for pattern in (
        (
            r"DataLoader worker \(pid[()s]* (?P<pids>[\d, ]+)\) exited unexpectedly(?: with exit code "
            r"(?P<exit_code>\d{1,10}))?"
        ),
        r"DataLoader worker \(pid(?:\(s\))? (?P<pids>[\d, ]+)\) is killed by signal: (?P<signal>[^.]+)",
        r"in DataLoader worker process (?P<worker>\d{1,9})",
        r"returned non-zero exit status (?P<exit_code>\d{1,10})",
        r"died with <?(?P<signal>Signals\.SIG\w+|unknown signal \d+)",
        r"\bProcess (?P<pid>\d{1,9}) got signal: (?P<signal>\d{1,3})",
        r"^[\w.]+: process (?P<local_rank>\d{1,6}) terminated with signal (?P<signal>SIG\w+)",
        r"^[\w.]+: process (?P<local_rank>\d{1,6}) terminated with exit code (?P<exit_code>-?\d{1,10})",
        # torch.distributed.launch and DeepSpeed repeat the command of the process that STARTED last, not of the
        # process that ended. So it proves a rank only if there is one process, with local rank 0.
        r"^[\w.]*CalledProcessError: Command .{0,2000}?--local[_-]rank[=', ]{1,4}(?P<local_rank>0)\b",
        r"RayTaskError(?:\([\w.]{1,200}\))?: ray::.{1,300}? ?\(pid=(?P<pid>\d{1,9})(?:, ip=(?P<host>[\w.:-]{1,100}))?",
        (
            r"(?s)Actor\w{0,20}Error: (?!.{0,900}\bits owner has died).{0,400}?\n\s*pid: (?P<pid>\d{1,9})\n"
            r"(?:.{0,300}?\n)?\s*ip: (?P<host>[\w.:-]{3,80})"
        ),
        r"\bits owner has died\. .{0,120}? Owner Ip address: (?P<host>[\w.:-]{3,80}) ",
        r"(?s)NodeDiedError: .{0,200}?[Nn]ode IP: (?P<host>[\w.:-]{3,80}?),",
        r"\[Errno (?P<errno>\d{1,4})\]",
        r"^AssertionError: Rank (?P<rank>\d{1,7}) has different values for ",
        r"^RuntimeError: Rank (?P<rank>\d{1,7}), node (?P<host>[\w.-]{1,253}), device \d{1,4}, iteration #?\d{1,12}: ",
        (
            r"The first process to do so was:\s{1,3}Process name: (?P<host>[\w.-]{1,253})\[(?P<local_rank>\d{1,4})\]"
            r"\s{1,3}Exit code: (?P<exit_code>-?\d+)"
        ),
        r"The first process to do so was:\s{1,3}Process name: (?P<rank>\d{1,7})\s{1,3}Exit code: (?P<exit_code>-?\d+)",
        r"\(PID:(?P<pid>\d{1,9}), Device:\d{1,4}, RankID:(?P<rank>\d{1,7})\)",
    )
)
_UNEXPECTED_SIGNAL = later(r"Unexpected (.+) encountered in worker")


def message_fields(text: str) -> dict[str, Value]:
    """Return the numbers and hosts in a message, as fields.

    Fields: worker, worker_pids, pid, host, (local_)rank, signal, exit_code, errno. ``DataLoader worker (pid 71) is
    killed by signal: Killed.`` gives ``worker_pids: (71,)`` and ``signal: 9``.
    """
    fields: dict[str, Value] = {}
    for pattern in _PATTERNS:
        match = pattern.search(text)
        if match:
            fields |= _match_fields(match)
    return fields


def _match_fields(match: regex.Match[str]) -> dict[str, Value]:
    groups = {name: value for name, value in match.groupdict().items() if value}
    fields: dict[str, Value] = {}
    pids = groups.pop("pids", "")
    if pids:
        fields["worker_pids"] = tuple(numbers_in(pids))
    signal = signal_number(groups.pop("signal", ""))
    if signal:
        fields["signal"] = signal
    if host := groups.pop("host", ""):
        fields["host"] = host
    if (code := number(groups.pop("exit_code", ""))) is not None:
        fields["exit_code"] = posix_exit_code(code)
    return fields | number_fields(groups)


def read_worker(head: Message, _fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Return the fields of a single line about a worker."""
    match = _UNEXPECTED_SIGNAL.search(head.text)
    number = signal_number(match[1]) if match else None
    return Multiline(head.text, {"signal": number} if number else message_fields(head.text))


def read_exit(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Turn an exit code or a signal's name into numbers. Exit code -9 is signal 9."""
    code = number(str(fields.get("exit_code", "")))
    values: dict[str, Value] = {} if code is None else {"exit_code": code}
    signal = signal_number(str(fields.get("signal", ""))) or (-code if code is not None and code < 0 else None)
    return Multiline(head.text, values | ({"signal": signal} if signal else {}))

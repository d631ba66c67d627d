"""Source of a log file by its name, for example ``out/rank3.log``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import regex

from logdoctor.model import Source
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later

_MACHINE_LOG = "(?:dmesg|kern|kernel|journal|journalctl|syslog|messages)"
_NAMES = (
    later(r"(?:^|/)attempt_\d+/(?P<local_rank>\d{1,4})/(?:stdout|stderr|error)\.\w+$"),
    later(r"(?:^|[/_.-])local[_-]?rank[_-]?(?P<local_rank>\d{1,4})(?=[._/-]|$)"),
    later(
        r"(?:^|/|(?<!local|lora|low)[_.-](?=[^/]*$))(?:global[_-]?)?rank[_-]?(?P<rank>\d{1,7})(?=/|[._-][^/]*$|$)",
        regex.IGNORECASE,
    ),
    later(
        r"(?:^|[/_.-])(?:nccl|NCCL)[\w-]{0,24}[._-](?P<host>[A-Za-z][\w-]{0,62})\.(?P<pid>\d{1,10})(?:\.(?:log|txt|out))?$"
    ),
    later(r"(?:^|/)slurm-\d+(?:_\d+)?-(?P<host>[A-Za-z][\w-]*\d[\w-]*)\.(?:out|err|log)$"),
    later(
        rf"(?:^|/){_MACHINE_LOG}[._-](?!(?:run|attempt|try|part|boot|day|job)[_-]?\d)(?P<host>[A-Za-z][\w-]*\d[\w-]*)\.\w{{3}}$"
    ),
    later(
        rf"(?:^|/)(?!(?:run|attempt|try|part|boot|day|job)[_-]?\d)(?P<host>[A-Za-z][\w-]*\d[\w-]*)[._-]{_MACHINE_LOG}\.\w{{3}}$"
    ),
    later(r"(?:^|/)rsl\.(?:error|out)\.(?P<rank>\d{4,6})$"),
    later(r"(?:^|[/_.-])(?P<tag>(?:node|worker|host|pod|trainer|master|task|actor|launcher)[_-]?\d{1,6})(?=[._-]|$)"),
)
"""torchrun --log-dir, per-rank files, NCCL_DEBUG_FILE with %h.%p, Slurm's %j-%N, logs of a machine such as
dmesg-gpu07.log, WRF's rsl.error.N, nodes and workers.

A folder names a rank only with its whole name, because ``fsdp-rank5/job.log`` is the name of an experiment.  In
``lora_rank_16.log`` the number is a setting.
"""


_SLURM_JOB = later(r"(?:^|/)slurm-(?P<job>\d{1,12}(?:_\d{1,9})?)(?:-[^/]*)?\.(?:out|err)$")


def slurm_job_of(files: Iterable[str]) -> str | None:
    """Return the job id in file names such as ``slurm-4711.out``, if all of them have the same."""
    found = {match["job"] for file in files if (match := _SLURM_JOB.search(file))}
    return found.pop() if len(found) == 1 else None


_WORDS = "dmesg|kern|kernel|kmsg|syslog|journal|journalctl|messages|nvidia|smi|query|q|log|txt|out|err|csv|xml|json"
_KNOWN = later(rf"(?i)^(?:(?:{_WORDS})[._-]+)+|(?:[._-]+(?:{_WORDS}))+$")
_NO_HOST = r"(?i:(?:rank|node|worker|pod|job|run|attempt|try|part|boot|day|step|task|v)[_-]?\d+|gpu[_-]?\d)$"
_HOST = later(rf"(?!{_NO_HOST})[A-Za-z][A-Za-z-]*\d[\w-]*")


def host_in_name(file: str) -> str | None:
    """Return the host that the name of a file, or of its folder, is besides words such as ``dmesg``.

    It has letters, then a digit, and is no number of a rank or node. Ask only for files that are of one host.
    """
    parts = file.rpartition(":")[2].replace("\\", "/").split("/")
    names = (_KNOWN.sub("", part) for part in reversed(parts[-2:]))
    return next((name for name in names if _HOST.fullmatch(name)), None)


@lru_cache(maxsize=256)
def source_from_filename(file: str) -> Source:
    """Return the source that a file name tells.

    Of ``logs.tar.gz:a/worker-3.log`` only the name of the archive member counts.
    """
    name = file.rpartition(":")[2].replace("\\", "/")
    labels: dict[str, str] = {}
    for pattern in _NAMES:
        if match := pattern.search(name):
            for key, value in match.groupdict().items():
                labels.setdefault(key, value)
    rank, local_rank, pid = (number(labels.get(k)) for k in ("rank", "local_rank", "pid"))
    return Source(rank, local_rank, labels.get("host"), pid, tag=labels.get("tag"))

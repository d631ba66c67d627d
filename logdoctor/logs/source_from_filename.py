"""Source of a log file by its name, for example ``out/rank3.log``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

import regex

from logdoctor.artefacts import file_names
from logdoctor.logs.format_table import read_format_table
from logdoctor.model import Source
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import compiled, later

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
    later(r"(?:^|/)rsl\.(?:error|out)\.(?P<rank>\d{4,6})$"),
    later(r"(?:^|[/_.-])(?P<tag>(?:node|worker|host|pod|trainer|master|task|actor|launcher)[_-]?\d{1,6})(?=[._-]|$)"),
)
"""torchrun --log-dir, per-rank files, NCCL_DEBUG_FILE with %h.%p, Slurm's %j-%N, WRF's rsl.error.N, nodes and workers.

A folder names a rank only with its whole name, because ``fsdp-rank5/job.log`` is the name of an experiment.  In
``lora_rank_16.log`` the number is a setting.
"""


_SLURM_JOB = later(r"(?:^|/)slurm-(?P<job>\d{1,12}(?:_\d{1,9})?)(?:-[^/]*)?\.(?:out|err)$")


def slurm_job_of(files: Iterable[str]) -> str | None:
    """Return the job id in file names such as ``slurm-4711.out``, if all of them have the same."""
    found = {match["job"] for file in files if (match := _SLURM_JOB.search(file))}
    return found.pop() if len(found) == 1 else None


_SUFFIXES = "log|txt|out|err|csv|xml|json|gz"
_NO_HOST = (
    r"(?i:(?:rank|node|worker|pod|job|run|case|exp|trial|test|seed|issue|ticket|attempt|try|part|boot|day|step|task|v"
    r"|level|r|pass|fail)[_-]?\d+"
    r"|gpu[_-]?\d|[gabhmi]{1,2}\d{1,2}00x?)$"
)
_HOST = later(rf"(?!{_NO_HOST})[A-Za-z][A-Za-z-]*\d[\w-]*")
_FOLDER = later(r"[A-Za-z]{2,12}(?:-[A-Za-z]{1,2})?-?\d{1,5}")
"""A folder may as well be named after its job (``exception-xid79``), so only short names are those of hosts."""


@cache
def _machine_log() -> regex.Pattern[str]:
    """Return the pattern for the log of a machine, such as ``dmesg-gpu07.log`` or ``gpu07/kern.log``."""
    return compiled(rf"(?i)(?:^|[/._-])(?:{'|'.join(read_format_table().file_names)})(?:[._-][^/]*)?$")


@cache
def _known_words() -> regex.Pattern[str]:
    """Return the pattern for the words around the host in the name of a file."""
    words = "|".join((*read_format_table().file_names, *file_names(), _SUFFIXES))
    return compiled(rf"(?i)^(?:(?:{words})[._-]+)+|(?:[._-]+(?:{words}))+$|^(?:{words})$")


def host_in_name(file: str) -> str | None:
    """Return the host that the name of a file, or of its folder, is besides words such as ``dmesg``.

    It has letters, then a digit, and is no number of a rank or node, no model of a GPU. That of a folder is short.
    Ask only for files that are of one host.
    """
    *folders, name = file.rpartition(":")[2].replace("\\", "/").split("/")
    rest: str = _known_words().sub("", name)
    if _HOST.fullmatch(rest):
        return rest
    folder = _known_words().sub("", folders[-1]) if folders else ""
    return folder if _HOST.fullmatch(folder) and _FOLDER.fullmatch(folder) else None


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
    if "host" not in labels and _machine_log().search(name) and (host := host_in_name(name)):
        labels["host"] = host
    rank, local_rank, pid = (number(labels.get(k)) for k in ("rank", "local_rank", "pid"))
    return Source(rank, local_rank, labels.get("host"), pid, tag=labels.get("tag"))

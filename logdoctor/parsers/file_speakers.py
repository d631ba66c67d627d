"""Who wrote a file, as far as its name tells."""

from __future__ import annotations

from functools import lru_cache

import regex

from logdoctor.model import Speaker
from logdoctor.regexes import later

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

A folder tells a rank with its whole name only: ``fsdp-rank5/job.log`` is an experiment, ``lora_rank_16.log`` a setting.
"""


@lru_cache(maxsize=256)
def speaker_of(file: str) -> Speaker:
    """The speaker that a file's name tells; of an archive's member only the member's name counts."""
    name = file.rpartition(":")[2].replace("\\", "/")
    found: dict[str, str] = {}
    for pattern in _NAMES:
        if hit := pattern.search(name):
            for key, value in hit.groupdict().items():
                found.setdefault(key, value)
    rank, local_rank, pid = (int(found[k]) if k in found else None for k in ("rank", "local_rank", "pid"))
    return Speaker(rank, local_rank, found.get("host"), pid, tag=found.get("tag"))

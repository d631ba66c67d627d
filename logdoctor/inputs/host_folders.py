"""Folders of the hosts of one job, told from folders of several jobs by the start of their logs."""

from __future__ import annotations

import re
from collections.abc import Mapping

START_BYTES = 64 << 10
"""Bytes that are read of a file."""
SEEN_FOLDERS, SEEN_FILES = 4, 2
"""Folders side by side that are looked into, and files that are read in each."""

_HOST_PLACE = (
    rb"(?m)^%(name)s(?::\d+:\d+ \[|: )"  # NCCL, pdsh
    rb"|\d %(name)s [\w.-]{1,40}(?:\[\d+\])?: "  # syslog
    rb"|\b(?:host|node)(?:name)?[ :=]{1,20}%(name)s(?![\w/-])"
)
"""A host name where a launcher, syslog or NCCL prints it."""
_SHARED_ID = re.compile(rb"commId 0x[0-9a-f]{6,}|SLURM_JOB_?ID[=: ]+\d+|(?:rdzv_id|run_id)[=: ]+[\w.-]{4,}")
"""An id that all processes of a job print."""
_RANK = re.compile(rb"\[(?:rank|default)(\d{1,7})\]:|\b[Rr]ank[ :=]{0,2}(\d{1,7})\b")


def are_hosts_of_one_job(starts: Mapping[str, bytes]) -> bool:
    """Return whether folders belong to hosts of one job.

    ``starts`` maps the name of a folder to the start of its logs.  The folders are hosts if most logs name their folder
    as a host, if all logs print the same id of a job, or if each log has ranks that no other log has.
    """
    if 2 * sum(_names_host(start, name) for name, start in starts.items()) > len(starts):
        return True
    ids = [set(_SHARED_ID.findall(start)) for start in starts.values()]
    if set.intersection(*ids):
        return True
    ranks = [{first or second for first, second in _RANK.findall(start)} for start in starts.values()]
    return all(ranks) and sum(map(len, ranks)) == len(set.union(*ranks))


def _names_host(start: bytes, name: str) -> bool:
    spelt = re.escape(name.encode("utf-8", "surrogateescape")) + rb"(?:\.[\w.-]+)?"
    return re.search(_HOST_PLACE % {b"name": spelt}, start) is not None

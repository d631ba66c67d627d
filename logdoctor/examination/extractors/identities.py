"""Ranks, devices, processes, hosts and groups that the text of a line names."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

_IDENTITY = later(
    r"""(?x)(?<![A-Za-z])(?:
    (?i:local[_ -]?rank)(?:[ ]?[:=][ ]?|[ ])\[?(?P<local_rank>\d{1,6})
    |(?<![a-z][ ]r)(?i:(?:global[_ -]?|world[_ -]?|mpi[_ -]?)?rank(?:[_ ]?id)?)(?:[ ]{0,8}[:=][ ]?\#?|[ ]\#?)\[?(?P<rank>\d{1,7})(?![\w.,]*x)
    |(?:(?i:gpu|npu|device|gpu[_ ]?id|device[_ ]?id|gpuid|deviceid)(?:[ ]?[:=][ ]?|[ ]\#?)|cuda:|cudaDev[ ]|dev[ ]|GPU\#?)(?P<device>\d{1,3})
    |(?i:pid)(?:[ ]?[:=][ ]?|[ ])'?(?P<pid>\d{1,8})
    |(?i:on[ ](?:the[ ])?(?:host|node)|host(?:name)?[ ]{0,8}[:=])[ ]?['"]?(?P<host>[A-Za-z][\w-]{0,60}(?:\.[\w-]{1,60}){0,5})
    |(?:PG[ ]ID|PG[ ]GUID|(?i:process[ ]group|group))(?:[ ]id)?[ :=]{1,2}(?P<group>\d{1,9}(?:\(\w{1,60}\))?)
    |(?P<last>last[ ](?:enqueued|completed|started)[ ])(?:NCCL[ ])?work:[ ](?P<number>-?\d{1,15})
    |(?:work[ ]sequence[ ]id:[ ]|SeqNum=|at[ ](?:NCCL[ ])?work:[ ]|collective[ ]\#)(?P<number>\d{1,15})
    )(?![\w]|\.\d)"""
)
_NO_RANK = later(r"(?i)(?:\blora|\blow|\bmatrix|\btensor|\bfull|\bof)[ _-]$")
_NO_HOST = frozenset({"the", "a", "this", "each", "every", "all", "name", "is", "memory", "with", "side", "to", "and", "or", "it"})
SAMPLES = {
    "[ERROR] (PID:8812, Device:6, RankID:14) ERR00100 PTA call acl api failed": (
        "identity.pid=8812",
        "identity.device=6",
        "identity.rank=14",
    ),
    "[PG ID 1 PG GUID 1 Rank 3]  failure detected by watchdog at work sequence id: 2210 PG status: last enqueued work: 2212, "
    "last completed work: 2209": (
        "identity.group=1",
        "identity.rank=3",
        "identity.number=2210",
        "identity.number=2212 (last enqueued)",
        "identity.number=2209 (last completed)",
    ),
    "rank      : 1 (local_rank: 1)": ("identity.rank=1", "identity.local rank=1"),
    "failed (exitcode: 7) local_rank: 1 (pid: 13561) of binary: /opt/env/bin/python": (
        "identity.local rank=1",
        "identity.pid=13561",
    ),
    "initializing on gpuId 2": ("identity.device=2",),
    "torch.OutOfMemoryError: GPU 5 has no memory left, cuda:5": ("identity.device=5",),
    "Abort(-1) on node 3 (rank 3 in comm 0):": ("identity.rank=3",),
    "unable to run bstrap_proxy on host cmp21 (pid 9917, exit code 256)": ("identity.host=cmp21", "identity.pid=9917"),
    "  host      : n01.cluster": ("identity.host=n01.cluster",),
    "Signal 15 (SIGTERM) received by PID 13560": ("identity.pid=13560",),
    "LoRA rank 16, rank of the tensor 3": (),
    "4 ranks on 2 nodes; nranks 8": (),
    "low rank 4 approximation": (),
    "on node 3": (),
}


@extracts(
    "identity",
    "rank rankid localrank global local gpu gpuid npu device deviceid cuda cudadev dev pid host hostname node pg group work seqnum collective",
)
def extract(text: str) -> Iterator[Found]:
    """Yield what the text names itself, beside the prefix of its line."""
    for match in _IDENTITY.finditer(text):
        role = next(name for name in reversed(_ROLES) if match[name])
        value = match[role]
        if role == "rank" and _NO_RANK.search(text, max(0, match.start() - 12), match.start()):
            continue
        if role == "host" and value.lower() in _NO_HOST:
            continue
        yield Found(role.replace("_", " "), number_or_text(value), of=(match["last"] or "").strip(), said=match[0])


_ROLES = ("local_rank", "rank", "device", "pid", "host", "group", "number")

"""Ranks, devices, processes, hosts and groups that the text of a line names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

_NUMBER = re.compile(  # twice as fast as the package `regex` here, and a third of all lines come here
    r"""(?<![A-Za-z_])([A-Za-z][A-Za-z_]{1,14})(?: {0,8}[:=] ?| )['"#\[]?(-?[0-9]{1,15}(?:\([A-Za-z0-9_]{1,60}\))?)"""
    r"(?!\w|[.,][0-9])"
)
_JOINED = later(r"(?<![\w:])(GPU|cuda:|rank|Rank)(\d{1,3})(?![\w.])")
_HOST = later(
    r"(?i)(?:\bon (?:the )?(?:host|node)|(?<![\w-])host(?:name)? {0,8}[:=]) ?['\"]?"
    r"([a-z][\w-]{0,60}(?:\.[\w-]{1,60}){0,5})"
)
_ROLES = {
    **dict.fromkeys(("rank", "rankid", "rank_id", "global_rank", "globalrank", "mpi_rank", "world_rank"), "rank"),
    **dict.fromkeys(("local_rank", "localrank"), "local rank"),
    **dict.fromkeys(
        ("gpu", "npu", "device", "gpuid", "gpu_id", "deviceid", "device_id", "cudadev", "cuda", "cuda:"), "device"
    ),
    "pid": "pid",
    "guid": "group",
    "group": "group",
    "seqnum": "number",
}
"""Part by the word before a number."""
_PHRASES = {
    "id": ((" PG", "group", ""), ("work sequence", "number", "")),
    "work": (
        ("last enqueued", "number", "last enqueued"),
        ("last completed", "number", "last completed"),
        ("", "number", ""),
    ),
}
"""For a word that tells the part only behind others: these, the part, and the thing."""
_NO_RANK = later(r"(?i)(?:\blora|\blow|\bmatrix|\btensor|\bfull|\bof)[ _-]$")
_NO_HOST = frozenset("the a this each every all name is memory with side to and or it none null".split())
SAMPLES = {
    "[ERROR] (PID:8812, Device:6, RankID:14) ERR00100 PTA call acl api failed": (
        "identity.pid=8812",
        "identity.device=6",
        "identity.rank=14",
    ),
    "[PG ID 1 PG GUID 1 Rank 3]  failure detected by watchdog at work sequence id: 2210 PG status: last enqueued "
    "work: 2212, "
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
    "rank rankid localrank gpu gpuid npu device deviceid cuda cudadev pid host hostname node pg group work seqnum",
)
def extract(text: str) -> Iterator[Found]:
    """Yield what the text names itself, beside the prefix of its line."""
    found = [(match.start(), fact) for match in _NUMBER.finditer(text) if (fact := _numbered(text, match))]
    for match in _JOINED.finditer(text) if "GPU" in text or "cuda:" in text or "ank" in text else ():
        found.append((match.start(), Found(_ROLES[match[1].lower()], int(match[2]), said=match[0])))
    for match in _HOST.finditer(text) if " node" in text or "ost" in text else ():
        if match[1].lower() not in _NO_HOST:
            found.append((match.start(), Found("host", match[1], said=match[0])))
    yield from (fact for _, fact in sorted(found, key=lambda item: item[0]))


def _numbered(text: str, match: re.Match[str]) -> Found | None:
    word, before = match[1].lower(), text[max(0, match.start() - 16) : match.start()].rstrip()
    role, of = _ROLES.get(word, ""), ""
    if word in _PHRASES:
        told = [
            (part, thing)
            for words, part, thing in _PHRASES[word]
            if f" {before}".endswith(words) and (words or "at" in before)
        ]
        role, of = told[0] if told else ("", "")
    if word == "rank" and before.lower().endswith("local"):
        role = "local rank"
    if (
        not role
        or (role == "rank" and _NO_RANK.search(f"{before} "))
        or (role not in ("group", "number") and not match[2].isdigit())
    ):
        return None
    return Found(role, number_or_text(match[2]), of=of, said=match[0])

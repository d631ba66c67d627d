"""Sizes of memory, files and messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import regex
from msgspec import Struct

from logdoctor.examination.extractors import Found, extracts
from logdoctor.examination.units import AMOUNT, SIZE_UNIT, role_beside, to_bytes
from logdoctor.pack.regexes import later

_SIZE = later(rf"(?<![\w.,/-])(?:({AMOUNT}) ?/ ?)?(?<![\w.,])({AMOUNT})\s?({SIZE_UNIT})(?! ?/ ?s|ps|\w| per sec)")
_DEVICE = later(r"(?i)\b(?:GPU|gpuId|NPU|cuda|device)[ :=]{1,2}\d{1,3}\b|\bGPU_\d{1,3}(?:_bfc)?\b")
_BEFORE = later(
    r"""(?ix)\b(?:
    (?P<none>total-vm|file-rss|shmem-rss|pgtables|reserved|unallocated|than)
    |(?P<wanted>(?:tr(?:ied|ying)|failed|fail|unable|not|could[ ]not|cannot|needs?)[ ]to[ ](?:\w+ly[ ])?(?:allocate
    |reserve|malloc|map|write[ ]total)
      |allocation|allocating|request(?:ed|s|ing)?|ask(?:ed|s)[ ]for|want(?:ed|s)?|needs?|needed|requires?|required
      |desired
      |rtMalloc|malloc|mmap|write[ ]total)
    |(?P<free>free|available|avail|remaining|left)
    |(?P<used>used|usage|in[ ]use|using|consumed|consuming|allocated|anon-rss|rss|resident)
    |(?P<limit>limit|limits|limited|max|maximum|threshold|quota|exceed(?:s|ed|ing)?|at[ ]most|ulimit)
    |(?P<total>total|capacity|capacty|has)
    |(?P<got>got|received|read|found|actual)
    |(?P<expected>expected|expects|instead[ ]of|should[ ]be)
    )(?![A-Za-z])"""
)
_AFTER = later(
    r"""(?ix)[)\]]?\s?(?:(?:is|are|was|were|still|only|already|of|memory|physical|virtual|host|device
      |GPU|total|cache|space|to[ ]be|KV)[ ]){0,4}(?:
    (?P<free>free|available|remain(?:s|ing)|left)
    |(?P<used>(?:memory[ ])?(?:in[ ]use|used|allocated|resident|occupied))
    |(?P<wanted>requested|needed|required|wanted|desired)
    |(?P<limit>limit|quota|maximum)
    |(?P<total>capacity|total)
    |(?P<got>received|read)
    |(?P<expected>expected)
    )\b"""
)
_OF = later(r"[)]? ?(?:of|/|out of)(?: the| a total of)? ?[(]?")
_OF_MEMORY = later(r"(?i)\b(?:memory|disk|usage|used)\b")
SAMPLES = {
    "CUDA out of memory. Tried to allocate 9.50 GiB. GPU 2 has a total capacity of 39.39 GiB of which 6.10 GiB is "
    "free. Process 88 has 33.10 GiB memory in use.": (
        "size.wanted=10200547328 B (GPU 2)",
        "size.total=42294690447 B (GPU 2)",
        "size.free=6549825126 B (GPU 2)",
        "size.used=35540854374 B (GPU 2)",
    ),
    "Initial RMM allocation (51200.5 MB) is larger than free memory (4096 MB)": (
        "size.wanted=53687615488 B",
        "size.free=4294967296 B",
    ),
    "Initializing RMM ASYNC initial size = 51200.0 MB, max size = 60000.0 MB on gpuId 3": (
        "size.limit=62914560000 B (gpuId 3)",
        "size=53687091200 B (gpuId 3)",
    ),
    "out of memory while trying to allocate 17179869184 bytes.": ("size.wanted=17179869184 B",),
    "Allocator (GPU_1_bfc) ran out of memory trying to allocate 4.00GiB with freed_by_count=0.": (
        "size.wanted=4294967296 B (GPU_1_bfc)",
    ),
    "Unable to allocate 12.0 GiB for an array with shape (40, 40) and data type float64": (
        "size.wanted=12884901888 B",
    ),
    "Current usage: 4.2 GB of 4 GB physical memory used; 1 GB of 8 GB virtual memory used. Killing container.": (
        "size.used=4509715661 B",
        "size.total=4294967296 B",
        "size.used=1073741824 B",
        "size.total=8589934592 B",
    ),
    "memory: usage 2097152kB, limit 2097152kB, failcnt 31": ("size.used=2147483648 B", "size.limit=2147483648 B"),
    "Memory cgroup out of memory: Killed process 77 (solver) total-vm:4096kB, anon-rss:2048kB, file-rss:0kB": (
        "size.used=2097152 B",
        "size=4194304 B",
        "size=0 B",
    ),
    "Memory on the node where the task was running was 57.20GB / 60.00GB (0.953), above the threshold": (
        "size.used=61418032333 B",
        "size.total=64424509440 B",
    ),
    "Free memory on device (3.5/80 GiB) on startup is less than desired GPU memory utilization (0.9, 72 GiB).": (
        "size.free=3758096384 B",
        "size.total=85899345920 B",
        "size.wanted=77309411328 B",
    ),
    "16.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.5 GiB).": (
        "size.wanted=17179869184 B",
        "size.free=10200547328 B",
    ),
    "Not enough memory to write total of 4292720 bytes. Please check that /dev/shm has more available memory.": (
        "size.wanted=4292720 B",
    ),
    "the checkpoint requires 1.5 TB but only 200 GB is available": (
        "size.wanted=1649267441664 B",
        "size.free=214748364800 B",
    ),
    "Message truncated : received 1,024 bytes instead of 512 bytes": ("size.got=1024 B", "size.expected=512 B"),
    "expected 65536 bytes, got 4096 bytes": ("size.expected=65536 B", "size.got=4096 B"),
    "memlock limit is 64 KiB": ("size.limit=65536 B",),
    "container exceeded its memory limit of 4Gi": ("size.limit=4294967296 B",),
    "pinned 2.0 GB, 11.2 GB/s read, 300 Mbps": (),
    "step 118/2000 loss 3.412 lr 1.2e-04": (),
    "torch 2.3.0 wants 4 B200 in node b4 kb 12": (),
    "wrote 1.2 GB to model-00001.safetensors": (),
}


class _Size(Struct, frozen=True):
    start: int
    end: int
    amount: str
    unit: str
    shares_unit: bool = False
    """The unit stands behind the next size only: ``3.2/79.1 GiB``."""


@extracts("size", "b k m g t p ki mi gi ti kb mb gb tb pb kib mib gib tib bytes byte")
def extract(text: str) -> Iterator[Found]:
    """Yield sizes with a role, and then the others of such a line."""
    sizes = [*_sizes(text)]
    ends = [0, *(size.end for size in sizes)]
    starts = [*(size.start for size in sizes[1:]), len(text)]
    roles = [
        role_beside(text, (size.start, size.end), (ends[i], starts[i]), _BEFORE, _AFTER).replace("none", "")
        for i, size in enumerate(sizes)
    ]
    for i, (size, following) in enumerate(pairwise(sizes)):
        if size.shares_unit or _OF.fullmatch(text, size.end, following.start):
            roles[i] = roles[i] or (
                roles[i + 1] if roles[i + 1] in ("used", "free") else ("used" if _OF_MEMORY.search(text) else "")
            )
            roles[i + 1] = "total" if roles[i] in ("used", "free") else roles[i + 1]
    if any(roles):
        devices = [*_DEVICE.finditer(text)]
        found = [
            Found(role, to_bytes(size.amount, size.unit), "B", _device(devices, size), text[size.start : size.end])
            for size, role in zip(sizes, roles, strict=True)
        ]
        yield from sorted(found, key=lambda fact: not fact.role)


def _sizes(text: str) -> Iterator[_Size]:
    for match in _SIZE.finditer(text):
        if match[1]:
            yield _Size(match.start(1), match.end(1), match[1], match[3], shares_unit=True)
        yield _Size(match.start(2), match.end(), match[2], match[3])


def _device(devices: list[regex.Match[str]], size: _Size) -> str:
    """Return the only device of the line, else the last one before ``size``."""
    named = devices if len(devices) == 1 else [device for device in devices if device.end() <= size.start]
    return named[-1][0] if named else ""

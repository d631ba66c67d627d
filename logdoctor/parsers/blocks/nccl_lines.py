"""What every line of NCCL and RCCL shares: the prefix of its logger, and the facts inside its error messages.

In goes the text of one message, out come fields with the names that all dialects use (``peer``, ``errno``, ``hca``,
``bus_id`` ...).  Nothing here raises.  Facts from NCCL's sources, tags 2.3.5 to 2.30.7 (src/debug.cc, src/misc,
src/transport, src/bootstrap.cc, src/proxy.cc) and aws-ofi-nccl 1.1 to 1.21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from logdoctor.model import Value
from logdoctor.parsers.error_numbers import errno_texts
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import compiled, later

NAME = (
    r"(?!(?i:rank|local_?rank|world_?rank|gpu|device|dev|proc|process|pid|thread|task|worker|stage|info|warn|warning|error|debug"
    r"|stdout|stderr|nccl|rccl|step|epoch|iter) )[A-Za-z][\w.-]{2,80}"
)
"""A host in front of ``[D]``: a word there that is none of those which count processes, devices or steps."""
_MASKED = r"(?:[xX*#]{2,12}|<?(?:[pt]id|[PT]ID)>?)"
HEAD = (
    r"(?:(?:(?P<by_host>(?!\d{1,7}:|[._-]{1,80}:)[\w.-]+)|\d{1,7}|[._-]{1,80}):"
    rf"(?:(?P<by_pid>\d+):(?P<tid>\d+)|{_MASKED}(?::{_MASKED})?) (?:\[(?P<device>-?\d+)\](?:\[[\w.:-]{{1,60}}\])? *)?"
    rf"|^(?P<by_host>{NAME}) \[(?P<device>\d{{1,2}})\] )?"
)
"""``H:P:T [D] `` of debug.cc (NCCLX: ``[D][THREAD]``); D is the CUDA device of the calling thread and never the rank.
May be cut off;
some take the processes out of what they paste (``H [D] ``).

Processes may be blacked out (``H:XXXX:XXXX [D] ``). A host of some digits only is what is left of a name at the head of
a file that begins within a line; one of dashes only was taken out."""

_STARTS = (
    r"NET/OFI |NET/FasTrak |NET/GPUDirectTCPX |NET/FastSocket |NET/UCX|SHARP group create|SHARP allreduce|SHARP regmr",
    r"\[Proxy Service|\[Proxy service\]|\[Proxy Progress\]|\[Service thread\]|No transport found for rank",
    r"MNNVL \(cliqueSize|MNNVL is not supported on|XML Parse|XML Mismatch|XML Import Channel|XML Export Channel",
    r"XML Graph has wrong|XML Topology has wrong|Error : XML parser is|Error : too many XML|Error : too many Topo",
    r"Could not find node of type|Could not find gpu rank|Could not find rev link|Could not find net id",
    r"Could not find NIC for|Could not find any local path|Could not find NET with id|Failed to find reverse path",
    r"Add NVLink error|Add XGMI error|Add PCI Link error|TOPO/NET : |GetXmlFromCpu : ",
    r"Invalid rank requested|Invalid device count requested|Invali[dg] config |Invalid device \d+ \(totalnDev",
    r"Deregister: Could not find handle|UDS: Sending data|UDS: Receiving data|UDS: Binding to|UDS: Socket creation",
    r"failed to peer with device|cudaIpcGetMemHandle failed|failed to open CUDA IPC handle",
    r"ncclSocketAccept: |ncclSocketConnect: |ncclSocketRecv: |ncclSocketSend: |ncclSocketReady: |ncclSocketInit: ",
    r"socketTryAccept|ncclProxyCall|ncclProxyClient|Proxy append |Proxy Call to rank|Proxy response for opId",
    r"Mismatched response size",
    r"Mismatched NCCL version|Bootstrap Root : |Failed: UCX error |Unable to receive connect msg",
    r"commReclaim: |commDestroySync: |ncclCommGrow: |ncclCommSetAsyncError: |MemManager: |improper usage of ncclComm",
    r"Attempt to use communicator before|Failed to CUDA calloc|Failed to CUDA malloc|Failed to CUDA host alloc",
)
_TROUBLE = (
    r"(?=[^\n]*(?:[Cc]ould|[Cc]annot|[Ff]ail|[Uu]nable|rror|nvali[dg]|[Mm]ismatch|[Ww]rong|NULL|not |[Nn]o |"
    r"[Tt]oo many|limited|RC: -|Only EFA|[Ee]xpect|unterminated|before|exceed|requested|requires|out of))"
)
BARE_SCAN = "|".join(_STARTS)
"""How NCCL's own messages begin where the prefix was lost: below ``Last error:``, in tickets, in wrapped lines."""

BARE = rf"(?!\[Service thread\] Connection closed|\[Proxy Service UDS\] exit){_TROUBLE}(?:{BARE_SCAN})"
"""Such a beginning, if the line goes on to tell of trouble."""

TRAIL_SCAN = (
    r"(?:\.cpp|(?:init|bootstrap|channel|collectives|debug|enqueue|group|proxy|transport|register|runtime|ce_coll|kernels|"
    r"mnnvl|manager|allocator|rma|gin|argcheck|ipcsocket|wrap|param|profiler|ras|support|peers|rasnet|shmutils|socket|"
    r"strongstream|tuner|utils|connect|paths|rings|search|topo|trees|tuning|xml|coll_net|generic|net|net_ib|"
    r"nvls|p2p|shm|common|resiliency|nvtx|graph|scheduler|smi|msccl|models|archinfo|npkit|recorder|roctx)\.cc|"
    r"(?:init|enqueue|group|bootstrap|transport|channel|proxy|net|p2p|shm|common_coll|rings|ring|"
    r"topo)\.cu|(?:alloc|checks|shmutils|ipcsocket|bitops|strongstream|register|utils|comm|device|socket|proxy)\.h)"
    r":\d+ (?:\(\w+\) )?-> \d"
)
"""How a failure is passed up, ``FILE:LINE -> RESULT``: by the names of NCCL's and RCCL's own sources."""

_PASSED_ON = later(
    r"\n\s{0,8}Last error:[ \n]\s{0,8}+"
    r"(?P<said>(?!Exception raised from|frame #|nccl\w{0,20}(?:Error|Invalid\w{1,20}): )\S[^\n]+)"
    r"|Last NCCL warning\(error\) log entry \(may be unrelated\) '(?P<said>[^\n]+?)'\.?(?:;|\s|$)"
)
"""NCCL's last warning, as PyTorch and XLA quote it with the error of a call (``ncclGetLastError``)."""

_LONGEST = 2000
"""NCCL's own buffer is 1024 bytes; a longer text is not one message, and bounding it bounds the time."""

_ADDRESS = r"\[?(?P<addr>[^\s<>\[\]]+(?:<\d+>)?)\]?"

_SHAPES = (
    ("Connection closed by remote peer", rf"Connection closed by remote peer {_ADDRESS}"),
    (" peer ", rf"(?:\btag \w+|NET/(?:Socket|IB) ?:) peer {_ADDRESS} (?:message|collective|posted)"),
    ("onnect to ", rf"[cC]onnect to {_ADDRESS} (?:failed : |returned )(?:(?P<errno>\d+)\()?(?P<error>[^(),\n]+)"),
    ("connect returned ", r"connect returned (?P<error>[^(),\n]+)"),
    # Work completions of verbs, four spellings between 2.3 and 2.30; cut lines may end anywhere after the status.
    (
        "Got completion",
        rf"Got completion(?: from peer {_ADDRESS})? with (?:error |status=)(?:IBV_WC_\w+\()?(?P<status>\d+)",
    ),
    ("opcode", r"Got (?:completion|CQE) [^\n]*? opcode[= ](?:IBV_WC_\w+\()?(?P<opcode>\d+)"),
    ("vendor", r"vendor[_ ]err[= ](?P<vendor_err>\d+)(?: \((?P<direction>Send|Recv|Flush)\))?"),
    ("remoteGid", r"remoteGids?[ ]?(?P<remote_gid>[0-9a-f:.]+)"),
    ("_", r"\b(?:hca|on dev|local dev|device) (?P<hca>[a-z]\w*_\w*\d)"),
    (
        "event",
        (
            r"(?:(?P<hca>[\w.-]+):(?P<port>\d+) )?(?:Got )?(?:non-fatal )?async (?:fatal |error )?event"
            r"(?: on (?P<object>QP|CQ|SRQ))?[^:\n]*: ?(?P<event>[^(\n]+)"
        ),
    ),
    ("Call to ", rf"Call to (?P<call>recv|send) (?:from|to) {_ADDRESS} (?:failed : |returned )(?P<error>[^(),\n]+)"),
    (
        "Call to ",
        (
            r"Call to (?P<call>\w+) (?:failed|timed out)"
            r"(?:(?: with(?: error)?| ?:)? (?:(?P<errno>\d+) )?(?P<error>[^,\n]+))?"
        ),
    ),
    ("Accept failed", r"Accept failed:? (?P<error>[^\n]+)"),
    ("around rank ", r"\baround rank (?P<peer_rank>\d+)"),
    (" failure ", r"(?:Cuda|CUDA|HIP|Hip) failure (?:(?P<code>(?P<cuda_error>\d+)) )?'(?P<error>[^'\n]*)"),
    (
        "Duplicate GPU detected",
        (
            r"Duplicate GPU detected : rank (?P<first>\d+) and rank (?P<second>\d+) both on (?:CUDA )?device "
            r"(?P<bus_id>\w+)"
        ),
    ),
    (
        "Mismatched NCCL version",
        (
            r"Mismatched NCCL version detected : rank (?P<first>\d+) version (?P<version>\d+)"
            r" rank (?P<second>\d+) version (?P<other_version>\d+)"
        ),
    ),
    ("shared memory segment", r"shared memory segment (?P<path>\S+) \(size (?P<size>\d+)\)"),
    ("failed to extend", r"failed to extend (?P<path>\S+) to (?P<size>\d+) bytes"),
    ("alloc", r"Failed to (?P<call>(?:CUDA |HIP )?(?:host )?\w*[mc]alloc\w*)(?: async)? (?P<size>\d+) bytes"),
    (
        "Failed to execute operation",
        (
            r"Failed to execute operation (?P<operation>\w+)(?: from rank (?P<peer_rank>\d+))?"
            r"(?:, retcode (?P<code>(?P<result>\d+)))?"
        ),
    ),
    (
        "Could not receive type",
        (
            r"Could not receive type from localRank (?P<peer_local_rank>-?\d+), res=(?P<code>(?P<result>\d+)), "
            r"closed=(?P<closed>\d+)"
        ),
    ),
    ("Proxy Call to rank", r"Proxy Call to rank (?P<peer_rank>\d+) failed \((?P<operation>\w+)\)"),
    ("truncated : receiv", r"truncated : receiv(?:ing|ed) (?P<size>\d+) bytes instead of (?P<expected>\d+)"),
    ("mismatch error", r"mismatch error,? local size (?P<size>\d+) remote size (?P<expected>\d+)"),
    ("wrong ", r"wrong (?:type|magic) (?P<got>\w+) != (?P<expected>\w+)"),
    ("interface found", r"interface found \(starting with (?P<interface>[^)\n]+)\)"),
    (
        "RC: ",
        r"RC: (?P<code>(?P<fi_errno>-?\d+))[.,] (?:[eE]rror|ERROR): (?P<error>(?:(?P<prov_errno>\d+)(?= \())?[^.,\n]+)",
    ),
    ("declaring peer", rf"declaring peer {_ADDRESS} as DEAD"),
    ("error: ", r"error: (?P<error>[^(\n]+) \((?P<errno>\d+)\)"),
    ("errno ", r"\berrno (?P<errno>\d+)"),
)
"""Words that must stand in a message, and what is searched for where they do."""


def number(text: str) -> Value:
    """A whole number as int, anything else as it is."""
    return int(text) if compiled(r"-?\d{1,30}").fullmatch(text) else text


def peer_of(address: str) -> str:
    """NCCL's ``ADDR<PORT>`` as ``ADDR:PORT`` (IPv6 in brackets); an address without a port stays as it is."""
    host, _, port = address.rstrip(">").partition("<")
    if not port:
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def bus_of(printed: Value) -> str:
    """NCCL's bus id (hex without leading zeros, last digit the function: ``1a000``) as ``0000:1a:00``."""
    text = str(printed)
    if not compiled(r"[0-9a-fA-F]{1,12}").fullmatch(text):
        return text
    digits = text.lower().rjust(9, "0")
    return f"{digits[:-5]}:{digits[-5:-3]}:{digits[-3:-1]}"


def message_fields(message: str) -> dict[str, Value]:
    """What the text of an error message names, the first finding of each field; empty where it names nothing known.

    ``group_ranks`` are two ranks of the communicator, not global ones.  ``errno`` comes from the number printed or
    from the strerror text.
    """
    found: dict[str, str] = {}
    message = message[:_LONGEST]
    for words, shape in _SHAPES:
        hit = compiled(shape).search(message) if words in message else None
        for name, text in hit.groupdict().items() if hit else ():
            if text:
                found.setdefault(name, text.strip())
    return _standard(found, message)


def read_message(head: Bare, fields: Mapping[str, Value], _below: Iterator[Bare]) -> Block:
    """The message itself (``text``, else the whole line) with what it names; it has no further lines."""
    text = str(fields.get("text", head.text))
    return Block(text, {name: value for name, value in message_fields(text).items() if name not in fields})


def read_call(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """The message of a call that failed, and the warning of NCCL that it quotes."""
    block = read_message(head, fields, below)
    return replace(block, passes_on=passed_on(block.text))


def passed_on(text: str) -> str:
    """The warning of NCCL that a framework's message quotes, as NCCL prints it; empty without one."""
    quoted = _PASSED_ON.search(text[: 2 * _LONGEST]) if "NCCL" in text else None
    return f"NCCL WARN {quoted['said'].strip()}" if quoted else ""


def _standard(found: dict[str, str], message: str) -> dict[str, Value]:
    """The raw findings under the names and in the forms that all dialects share."""
    ranks = tuple(int(found.pop(name)) for name in ("first", "second") if name in found)
    address = found.pop("addr", "")
    fields: dict[str, Value] = {name: number(text) for name, text in found.items()}
    if ranks:
        fields["group_ranks"] = ranks
    if address:
        fields["peer"] = peer_of(address)
    if "bus_id" in found:
        fields["bus_id"] = bus_of(found["bus_id"])
    if "errno" not in fields:
        named = [code for text, code in errno_texts().items() if text in message]
        fields.update({"errno": named[0]} if named else {})
    return fields

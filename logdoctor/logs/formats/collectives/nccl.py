r"""NCCL and RCCL: what they print when something fails (facts of a healthy start are in ``nccl_info``).

Kinds and their fields (all also carry ``by_host``, ``by_pid`` in the speaker and ``tid``, ``device`` from the prefix;
``device`` is the CUDA device of the thread, never the rank):

- ``nccl.warn``            any ``NCCL WARN``, or the same words without that prefix; text = the message; file, line,
  func, and what the message names: peer ("ip:port" or host), error, errno, call, status, opcode, vendor_err, direction,
  hca, port, event, object, remote_gid (printed on RoCE only), code, bus_id, group_ranks, version, other_version, path,
  size, expected, operation, peer_rank, peer_local_rank, closed, interface
- ``nccl.warn_harmless``   a WARN after which NCCL goes on (advice, fallbacks, plugins not found); same fields
- ``nccl.trail``           ``FILE:LINE -> N`` back trace; file, line, func, result (ncclResult), thread; an error
  where it ends the thread that makes a communicator
- ``nccl.retry``           INFO: a connection attempt failed and is tried again; peer, error, errno
- ``nccl.info_error``      INFO that says that something failed or was not possible; file, line, func, and as nccl.warn
- ``nccl.local_closed``    ``[Service thread] Connection closed by localRank N``: normal at the end; peer_local_rank
- ``nccl.p2p_disabled``    INFO: no direct access between GPUs
- ``nccl.hint``            ``HINT:`` after RDMA failures (2.30.7 and later)
- ``nccl.sharp``           a line of the SHARP library, warning: NCCL goes on without it; severity
- ``nccl.ras``             ``RAS ...`` INFO lines; peer
- ``nccl.ras_problem``     a finding in the output of ncclras; comm_id, problem, odd and odd_hosts (the ranks it lists)
- ``nccl.ras_dead``        processes that ncclras cannot reach; count, odd_hosts (where they ran)
- ``nccl.ras_rank``        a rank's line in the output of ncclras; group_rank, op_count, gpu, pid, host
- ``nccl.ras_event``       a monitor line of ncclras (PEER_DEAD ...); event, pid, host, gpu
- ``nccl.expert_timeout``  an expert-parallel exchange (NCCL EP, DeepEP) timed out; group_rank, peer_rank
- ``nccl.call_failed``     a program reports that an NCCL call failed; call, error, result, code

Sources: NCCL 2.3.5 to 2.30.7 (src/debug.cc, src/ras/client_support.cc), RCCL 2.18 to 2.27, aws-ofi-nccl 1.1 to 1.21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.error_numbers import FAILURE_TEXTS
from logdoctor.logs.multiline.nccl_advice import is_harmless
from logdoctor.logs.multiline.nccl_lines import BARE, BARE_SCAN, HEAD, TRAIL_SCAN, read_call, read_message
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_PLACE = r"(?:(?P<file>[^\[\]\n]{1,300}?):(?P<line>\d+) )?(?:\((?P<func>[\w:~]+)\) )?"
"""FILE is a path, or the pretty function of a plugin: anything without brackets."""

_WARN = HEAD + _PLACE + r"\*{0,2}NCCL WARN (?!(?:line|message|log|output|level|entr)\w*\b|or )"
_INFO = HEAD + "NCCL INFO "

_MORE_REASONS = (
    "Bad file descriptor",
    "Invalid argument",
    "Protocol not supported",
    "Operation not supported",
    "Address family not supported by protocol",
    "Destination is unreachable",
    "Operation canceled",
)
_REASONS = "|".join(sorted((*FAILURE_TEXTS, *_MORE_REASONS), key=len, reverse=True))
_RAS_RANK = later(r"\s+Rank (?P<rank>\d{1,7})\b.{0,200}? on node (?P<host>\S{1,255})")
_RAS_COUNT = later(
    r"\s+(?:\d{1,7} ranks have|Rank \d{1,7} has) "
    r"(?:launched up to operation (?P<done>\d{1,18})|not launched any operations)"
)
_RAS_PROCESS = later(r"\s*Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,255}) managing GPU")
_UNCAUGHT = ("group.cc", "group.cpp", "group.cu", "p2p.cc", "p2p.cpp", "p2p.cu")
"""Sources that pass an error up only to those who give up over it; others try a second way (CollNet, a plugin)."""
_FAILURES = range(1, 7)


def _harmless(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the message of a warning after which NCCL goes on, else return None.

    The record ``nccl.warn`` reads all other warnings.
    """
    return read_message(head, fields, below) if is_harmless(str(fields.get("text", ""))) else None


def _failed_start(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Set level error if nothing caught the error.

    Nothing caught it if the thread that makes a communicator, or the group of the caller, ends with it.
    """
    text, logger = str(fields.get("text", head.text)), str(fields.get("file", "")).rsplit("/", 1)[-1]
    uncaught = fields.get("thread") == "Async thread" or (logger in _UNCAUGHT and fields.get("result") in _FAILURES)
    return Multiline(text, level="error" if uncaught else None)


def _ras_group(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the indented lines below, and the ranks that differ from the most.

    A rank differs if it did fewer operations than the others. Without counts all listed ranks differ.
    """
    lines, taken, ranks, hosts = [head.text], list[int](), list[int](), dict[str, None]()
    count, most, listed = -1, -1, list[tuple[int, int, str]]()
    for message in below:
        if not message.text.startswith("  ") or not message.text.strip():
            break
        lines.append(message.text.strip())
        taken.append(message.below)
        if hit := _RAS_COUNT.match(message.text):
            count = int(hit["done"] or 0)
            most = max(most, count)
        if hit := _RAS_RANK.match(message.text):
            listed.append((count, int(hit["rank"]), hit["host"]))
    for done, rank, host in listed:
        if done < most or most < 0:
            ranks.append(rank)
            hosts.setdefault(host)
    more: dict[str, Value] = {"odd": tuple(ranks), "odd_hosts": tuple(hosts)} if ranks else {}
    return Multiline("\n".join(lines), more, tuple(taken))


def _ras_dead(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the hosts of processes that do not answer, from the lines below."""
    lines, taken, hosts = [head.text], list[int](), dict[str, None]()
    for message in below:
        hit = _RAS_PROCESS.match(message.text)
        if hit is None:
            break
        lines.append(message.text.strip())
        taken.append(message.below)
        hosts.setdefault(hit["host"])
    return Multiline("\n".join(lines), {"odd_hosts": tuple(hosts)} if hosts else {}, tuple(taken))


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "nccl.warn_harmless",
        rf"{_WARN}(?P<text>[^\n]*)",
        level="warning",
        read_lines=_harmless,
        priority=7,
        scan="NCCL WARN ",
        note="NCCL warns about the system or a missing option and goes on without it.",
    ),
    RecordPattern(
        "nccl.warn_harmless",
        HEAD
        + r"(?P<file>(?<![^\s\]])\S{0,200}\bras/client_support\.cc):(?P<line>\d+) (?:\((?P<func>\w+)\) )?NCCL WARN "
        r"(?P<text>Call to (?:bind|listen) failed[^\n]*)",
        level="warning",
        read_lines=read_message,
        priority=7,
        scan="NCCL WARN ",
        note="Another process of this host already serves NCCL's RAS port; the job goes on without it.",
    ),
    RecordPattern(
        "nccl.warn",
        rf"{_WARN}(?P<text>[^\n]*)",
        level="error",
        read_lines=read_message,
        priority=6,
        scan="NCCL WARN ",
        note="NCCL reports a failure inside its own code.",
    ),
    RecordPattern(
        "nccl.warn",
        r"\bWARN: Function: (?P<func>\w+) Line: (?P<line>\d+): (?P<text>NET/OFI [^\n]*)",
        level="error",
        read_lines=read_message,
        priority=5,
        scan=r"WARN: Function: \w{3,60} Line: \d+: NET/OFI ",
        note="The AWS plugin of NCCL reports a failure.",
    ),
    RecordPattern(
        "nccl.trail",
        rf"{HEAD}NCCL WARN (?P<text>(?P<file>/\S{{1,200}}):(?P<line>\d+) -> (?P<result>\d+))\s*$",
        level="info",
        scan=TRAIL_SCAN,
        priority=8,
        note="NCCLX passes an error code up through its own functions.",
    ),
    RecordPattern(
        "nccl.trail",
        rf"{_INFO}(?P<text>(?P<file>[^\s:]{{1,200}}):(?P<line>\d+) (?:\((?P<func>\w+)\) )?-> (?P<result>\d+)"
        r"(?: \((?P<error>[^)\n]*)\))?(?: \[(?P<thread>[^\]\n]*)\])?)",
        level="info",
        read_lines=_failed_start,
        scan=TRAIL_SCAN,
        priority=6,
        note="NCCL passes an error code up through its own functions; the first such line is nearest to the fault.",
    ),
    RecordPattern(
        "nccl.retry",
        rf"{_INFO}(?P<text>[^\n]{{0,160}}?(?:returned|failed)\b[^\n]{{1,80}}?, (?:retrying|retry)\b[^\n]*)",
        level="warning",
        read_lines=read_message,
        priority=6,
        scan=r"NCCL INFO [^\n]{1,160}, retry",
        note="NCCL could not connect to a peer yet and tries again.",
    ),
    RecordPattern(
        "nccl.local_closed",
        rf"{_INFO}(?P<text>\[[Ss]ervice thread\] Connection closed by localRank (?P<peer_local_rank>\d+))",
        level="info",
        priority=6,
        scan="Connection closed by localRank ",
        note="A process of the same host closed its connection to NCCL's service thread; normal when it ends.",
    ),
    RecordPattern(
        "nccl.p2p_disabled",
        rf"{_INFO}(?P<text>(?:Could not enable P2P between|P2P is disabled between connected GPUs)[^\n]*)",
        level="info",
        priority=6,
        scan="NCCL INFO (?:Could not enable P2P|P2P is disabled between)",
        note="NCCL found no direct access between two GPUs and takes another way.",
    ),
    RecordPattern(
        "nccl.hint",
        rf"{_INFO}(?P<text>HINT: [^\n]*)",
        level="info",
        priority=6,
        scan="NCCL INFO HINT: ",
        note="NCCL suggests a reason for the failure printed before.",
    ),
    RecordPattern(
        "nccl.ras",
        rf"{_INFO}(?P<text>RAS [^\n]*(?:DEAD|dead|[Ff]ailed|[Ee]rror|timed? ?out|[Tt]imeout|lost|closed|reset)[^\n]*)",
        level="info",
        read_lines=read_message,
        priority=6,
        scan="NCCL INFO RAS ",
        note="NCCL's RAS subsystem lost contact with a peer or could not open its port.",
    ),
    RecordPattern(
        "nccl.info_error",
        rf"{_INFO}(?P<text>(?:(?P<file>[\w./-]+):(?P<line>\d+) )?(?:\((?P<func>\w+)\) )?(?:[\w/]{{2,30}} ?: ?)?"
        r"(?:Failed|Error|ERROR|Unable|Cannot|Could not|Call to \w+ (?:failed|returned|timed)|[Tt]imed? ?out|"
        r"(?:Cuda|CUDA|HIP) failure)\b[^\n]*)",
        level="info",
        read_lines=read_message,
        priority=4,
        scan=r"NCCL INFO (?:[\w./-]+:\d+ )?(?:\(\w+\) )?(?:[\w/]{2,30} ?: ?)?"
        "(?:Failed|Error|ERROR|Unable|Cannot|Could not|Call to|[Tt]imed? ?out|Cuda failure|CUDA failure|HIP failure)",
        note="NCCL notes that something was not possible and does not call it an error.",
    ),
    RecordPattern(
        "nccl.info_error",
        rf"{_INFO}(?P<text>[^\n]{{0,300}}?\b(?:{_REASONS})\b[^\n]*)",
        level="info",
        read_lines=read_message,
        priority=3,
        scan=rf"(?:{_REASONS})",
        note="The operating system refused something that NCCL does without, or tries again.",
    ),
    RecordPattern(
        "nccl.warn_harmless",
        rf"^(?P<text>{BARE}[^\n]*)",
        level="warning",
        read_lines=_harmless,
        priority=1,
        scan=BARE_SCAN,
        note="NCCL warns about the system or a missing option and goes on without it.",
    ),
    RecordPattern(
        "nccl.warn",
        rf"^(?P<text>{BARE}[^\n]*)",
        level="error",
        read_lines=read_message,
        scan=BARE_SCAN,
        note="A message of NCCL whose prefix was cut off.",
    ),
    RecordPattern(
        "nccl.sharp",
        r"\[(?P<by_host>[\w.-]+):\d+:(?P<by_pid>\d+) (?:unique id \d+|- [\w./]+:\d+)\](?:\[[\d :.-]{10,30}\])? "
        r"(?P<severity>ERROR|WARN|FATAL) (?P<text>[^\n]+)",
        level="warning",
        read_lines=read_message,
        priority=5,
        scan=r":\d+:\d+ (?:unique id \d+|- [\w./]+:\d+)\](?:\[[\d :.-]{10,30}\])? (?:ERROR|WARN|FATAL) ",
        note="The library for reductions inside the switches reports trouble; NCCL goes on without it.",
    ),
    RecordPattern(
        "nccl.ras_problem",
        r"#\d+-\d+ \((?P<comm_id>[0-9a-f]{8,16})\) (?P<problem>INCOMPLETE|MISMATCH|ERROR|TIMEOUT|DEAD)\b",
        level="error",
        read_lines=_ras_group,
        scan=r"#\d+-\d+ \([0-9a-f]{8,16}\) (?:INCOMPLETE|MISMATCH|ERROR|TIMEOUT|DEAD)",
        note="NCCL's RAS report names a communicator that is not in order.",
    ),
    RecordPattern(
        "nccl.ras_dead",
        r"\b(?P<count>\d+) job process(?:es)?(?: is| are)? considered dead \(unreachable via the RAS network\)",
        level="error",
        read_lines=_ras_dead,
        scan=r"considered dead \(unreachable",
        note="NCCL's RAS cannot reach processes of the job any more.",
    ),
    RecordPattern(
        "nccl.ras_rank",
        r"Rank (?P<group_rank>\d+) has launched up to operation (?P<op_count>\d+)"
        r"(?: -- GPU (?P<gpu>\S+) managed by process (?P<pid>\d+) on node (?P<host>\S+))?",
        level="info",
        scan=r"Rank \d+ has launched up to operation ",
        note="NCCL's RAS report says how far a rank of a communicator has come.",
    ),
    RecordPattern(
        "nccl.ras_event",
        r"\b(?P<event>PEER_(?:DEAD|UNRESPONSIVE|RECOVERED)): Process (?P<pid>\d+) on node (?P<host>\S+)"
        r"(?: managing GPUs? (?P<gpu>\S+))?",
        level="error",
        scan=r"PEER_(?:DEAD|UNRESPONSIVE|RECOVERED): Process ",
        note="NCCL's RAS monitor lost a process.",
    ),
    RecordPattern(
        "nccl.call_failed",
        r"\b(?P<call>p?nccl(?:Comm|Group|All|Reduce|Broad|Send|Recv|Get|Mem|Bcast)\w*)(?:\([^\n]{0,200}?\))? "
        r"(?:failed|returned(?: with)? error)(?: with)?:? (?P<error>[^\n]+)",
        level="error",
        read_lines=read_call,
        priority=1,
        scan=r"nccl[A-Z]\w{2,40}(?:\([^\n]{0,200}\))? (?:failed|returned error)",
        note="The program says that a call of NCCL failed.",
    ),
    RecordPattern(
        "nccl.call_failed",
        r"\bN(?:CCL|ccl) (?:[Ff]ailure|FAILURE|error|Error|ERROR)[ :,]{1,3}(?:(?P<code>\d+)[ :]{0,2})?"
        r"(?P<error>'?(?:unhandled (?:cuda|system|hip) error|internal error|invalid (?:argument|usage)|"
        r"remote process exited|unknown result code|[^\n]{0,120}?nccl\w+Error)[^\n]*)",
        level="error",
        priority=1,
        scan=r"(?:NCCL (?:[Ff]ailure|FAILURE|error|Error|ERROR)[ :,]|Nccl error, )",
        note="The program says that a call of NCCL failed.",
    ),
    RecordPattern(
        "nccl.call_failed",
        r"\bNCCL (?:[Ff]ailure|error):? (?P<file>[\w./-]{1,200}):(?P<line>\d+) '(?P<error>[^'\n]*)",
        level="error",
        priority=2,
        scan=r"NCCL (?:[Ff]ailure|error):? [\w./-]{1,200}:\d+ '",
        note="The program says that a call of NCCL failed.",
    ),
    RecordPattern(
        "nccl.expert_timeout",
        r"\b(?:NCCL EP timeout|DeepEP [^\n]{0,60}?timeout)(?:[^\n]{0,80}?\brank:? (?P<group_rank>\d+)"
        r"(?:[^\n]*?\bsrc_?[rR]ank:? (?P<peer_rank>\d+))?)?",
        level="error",
        priority=2,
        scan="(?:NCCL EP timeout|DeepEP [^\n]{0,60}timeout)",
        note="An expert-parallel exchange waited too long for another rank.",
    ),
    RecordPattern(
        "nccl.call_failed",
        r"\bNCCL_ERROR_(?P<result>[A-Z_]+)\b(?:[:,] (?P<error>[^\n]+))?",
        level="error",
        scan="NCCL_ERROR_[A-Z]",
        note="The program says that a call of NCCL failed.",
    ),
)

SIGNS: LifecycleSigns = {
    "nccl.info_error": ("lost peer",),
    "nccl.warn": ("lost peer",),
}

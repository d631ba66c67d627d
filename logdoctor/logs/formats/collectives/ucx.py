r"""UCX, libfabric (OFI), PSM2/PSM3 and the verbs libraries under them.

Kinds and their fields:

- ``ucx.completion`` status (ibv_wc_status), syndrome, vendor_err (numbers), device, port, message: a failed transfer
- ``ucx.memory`` message, errno, device: memory could not be registered or mapped
- ``ucx.connection`` message, errno, peer: a TCP or RDMA-CM connection failed or broke
- ``ucx.unreachable`` message: no transport leads to a peer; ``ucx.no_device`` message, device
- ``ucx.shm`` message, errno: shared memory or single copy between processes of a host
- ``ucx.assertion`` message: a check inside UCX failed; ``ucx.fatal`` message, file
- ``ucx.error``, ``ucx.warning`` message, file, errno, peer, device: the rest
- ``ucx.signal`` signal, message, frames, library: the crash handler of UCX
- ``libfabric.error``, ``libfabric.warning`` provider, area, function, message, errno, peer
- ``psm.error``, ``psm.warning`` message, errno
- ``verbs.error``, ``verbs.warning`` message; ``verbs.completion`` status, vendor_err, syndrome: libmlx5/libmlx4
- facts: ``ucx.version`` version

A line is ``[SEC.USEC] [HOST:PID:TID] FILE:LINE UCX LEVEL text``, the pid padded to five places. UCX's WARN lines never
end a job by themselves.
Sources: UCX 1.8 to 1.18 (ucs/debug/log.c, uct/ib, uct/tcp, ucp/wireup), libfabric 1.8 to 2.1 (src/log.c,
fabtests/include/shared.h), opa-psm2
and psm3, rdma-core libibverbs/init.c.
"""

from __future__ import annotations

from logdoctor.logs.multiline.ucx_blocks import read_completion, read_crash, read_error_entry, read_peer
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_HEAD = (
    r"(?:\[(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10}) {0,4}:\d+(?::\d+)?\] +)?(?:(?P<file>[\w.-]+\.(?:c|h|cc|"
    r"cpp|inl)):\d+ +)?UCX +"
)
_PLACE = (
    r"\[(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10}) {0,4}:\d+(?::\d+)?\] +(?P<file>[\w.-]+\.(?:c|h|cc|cpp|cu|inl)):"
    r"\d+ +"
)
"""Prefix of a failed check: process, file and line, no level (ucs/debug/assert.c)."""
_ERROR = _HEAD + r"ERROR +"
_WHO = r"(?:\[?(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10}) {0,4}:\d+(?::\d+)?\] +)?(?:[\w.-]+\.c:\d+ +)?"
"""Reports of the mlx5 transports go past UCX's logger: the process in brackets, file and line, no level."""


def _error(kind: str, words: str, note: str, priority: int = 2) -> RecordPattern:
    """Build the record of an ERROR line that matches ``words``."""
    return RecordPattern(kind, _ERROR + rf"(?P<message>.{{0,300}}?(?:{words}).*)", "error", read_peer, note, priority)


_WC_WORDS = (
    r"(?:[Ll]ocal (?:length|QP operation|EE context operation|protection|access)|[Rr]emote (?:access|operation|"
    r"invalid request)|Work Request Flushed|memory (?:bind|management) operation|bad response|response timeout) "
    r"[Ee]rror|(?:transport|RNR) retry counter exceeded"
)
"""Errors of ibv_wc_status_str() (``aborted``, ``fatal`` and ``general error`` say too little)."""

COMPLETIONS = (
    RecordPattern("ucx.completion", _ERROR +
           r"(?P<message>.+?) on (?P<device>\w+):(?P<port>\d+)(?:/\w+)? \(synd (?P<syndrome>0x[0-9a-f]+) vend "
           r"(?P<vendor_err>0x[0-9a-f]+)", level="error", read_lines=read_completion, priority=5,
           note="The network card completed a transfer with an error."),
    RecordPattern("ucx.completion", _ERROR + r"(?P<message>.{0,300}?(?:completion(?:\[\d+\])? with error|"
           rf"completed with error|wc error|work completion error|{_WC_WORDS}).*?)"
           r"(?:vendor[_ ]err(?:or)? ?(?P<vendor_err>(?:0x)?[0-9a-f]+).*)?$", level="error",
           read_lines=read_completion, priority=4, note="The network card completed a transfer with an error."),
    RecordPattern("ucx.completion", _WHO +
           r"(?P<message>[A-Z][\w-]{1,20}(?: [\w-]{1,20}){0,7} on (?P<device>\w+):(?P<port>\d+)/\w+) "
           r"\(synd (?P<syndrome>0x[0-9a-f]+) vend (?P<vendor_err>0x[0-9a-f]+)",
           level="error", read_lines=read_completion, priority=1,
           note="The network card completed a transfer with an error.", scan=r"\(synd 0x[0-9a-f]{1,4} vend 0x"),
    RecordPattern("ucx.completion", _WHO +
           r"(?:FATAL: )?Error on (?:(?P<device>\w+):(?P<port>\d+) )?QP 0x[0-9a-f]+ wqe\[\d+\]: (?P<message>.+?) "
           r"\(synd (?P<syndrome>0x[0-9a-f]+) vend (?P<vendor_err>0x[0-9a-f]+)\)", level="error", read_lines=read_completion,
           priority=1, note="The network card completed a transfer with an error; UCX 1.2 to 1.5 ends there."),
)  # fmt: skip

ERRORS = (
    RecordPattern("ucx.completion", _WHO + r"[Ss]end completion with error: (?P<message>[A-Za-z][\w -]{4,80}?)"
           r"(?: qpn 0x[0-9a-f]+)?(?: wrid 0x[0-9a-f]+)?(?: vendor_err (?P<vendor_err>0x[0-9a-f]+))?\s*$",
           level="error", read_lines=read_completion,
           scan="end completion with error: ", note="The network card completed a transfer with an error."),
    _error("ucx.memory", r"ibv_(?:exp_)?reg_(?:dmabuf_)?mr|failed to register|ibv_advise_mr|mlock|memory registration|"
           r"nvidia_?peer|RLIMIT_MEMLOCK", "Memory could not be registered with the network card."),
    _error("ucx.memory", r"cu(?:da)?\w*\(.*\) failed|cuMem|cuPointer|cuIpc|cudaIpc|gdr_\w+\(?.*fail|gdrcopy",
           "A CUDA call inside UCX failed.", 1),
    _error("ucx.connection",
           r"recv\(.*failed|send\w*\(.*failed|connect\(.*failed|accept\(.*failed|bind\(.*failed|listen\(.*failed|"
           r"getsockopt|SO_ERROR|rdma_\w+\(?.*fail|rdmacm|tcp_ep|connection (?:request|to|from).*(?:fail|reject|"
           r"timed)|" r"[Cc]onnection (?:reset|refused|timed out)|keepalive|keep-alive",
           "A connection to another process failed or broke."),
    _error("ucx.unreachable",
           r"no (?:active messages|remote memory|auxiliary|tag-matching|put|get|atomic|copy across memory types|"
           r"registered memory access|remote ep address|supported) \w*.*transport|"
           r"[Nn]o (?:common |usable )?transports?|[Dd]estination is unreachable|no active messages transport|"
           r"no remote ep address|no remote registered memory", "No transport leads to the other process."),
    _error("ucx.no_device",
           r"[Nn]o such device|[Ff]ailed to open (?:device|CM|IB device)|ibv_open_device|ibv_get_device_list|"
           r"device .*(?:not found|is not available)|port .*(?:not active|inactive)|no (?:usable|"
           r"available) .*(?:device|resource)", "A device that UCX wanted to use is missing.", 3),
    RecordPattern("ucx.warning", _ERROR + r"(?P<message>shm_unlink\(.{1,300}\) failed: No such file or directory)", "warning",
           read_peer, "A segment of shared memory was gone when UCX removed it: nobody needed it any more.", 4),
    _error("ucx.shm",
           r"shm(?:get|at|_open)|/dev/shm|/proc/\d+/fd|process_vm_(?:readv|writev)|posix_allocate|mm_(?:ep|posix|"
           r"sysv)|mm ep failed|xpmem|XPMEM|knem|KNEM|cma_\w+",
           "Sharing memory between the processes of a host failed."),
    RecordPattern("ucx.shm", _PLACE + r"(?P<message>process_vm_(?:readv|writev)\(.+)", "error",
           note="Sharing memory between the processes of a host failed.", priority=1),
    _error("ucx.completion",
           r"(?:RNR|[Tt]ransport|[Rr]eceive-no-ready) retry c|ibv_(?:exp_)?(?:modify|create|post|query|poll)_\w+",
           "An InfiniBand call or transfer failed.", 3),
    RecordPattern("ucx.warning",
           _ERROR + r"(?P<message>rdma_create_event_channel failed: No such device.*|"
           r"failed to open CM on component rdmacm.*)", "warning", read_peer, priority=6,
           note="UCX has no RDMA connection manager on this host and goes on without it."),
    RecordPattern("ucx.error", _ERROR + r"(?P<message>.+)", "error", read_peer, "UCX reports a failure."),
    RecordPattern("ucx.assertion", r"(?:" + _HEAD + r"\w+ +|" + _PLACE + r")?(?P<message>Assertion `[^']{1,300}' failed.*)",
           "fatal", priority=3, note="A check inside the program failed and ended it."),
    RecordPattern("ucx.fatal", _PLACE + r"(?:UCX +)?Fatal: (?P<message>.+)", "fatal", read_peer, "UCX ends the process.",
           priority=1),
    RecordPattern("ucx.warning", r"TL_\w{2,8} ERROR +(?P<message>(?:failed to initialize|failed to create|failed to init) .+)",
           "warning", priority=1, scan=r"(?:TL_CUDA ERROR|TL_MLX5 ERROR|TL_NCCL ERROR|TL_RCCL ERROR)",
           note="UCC, the library of collectives over UCX, goes on without one of its transports."),
    RecordPattern("ucx.shm", _WHO + r"TL_SHM ERROR +(?P<message>.+)", "error",
           note="UCC could not share memory between the processes of a host."),
    RecordPattern("ucx.error", _WHO + r"(?:UCC  ERROR|TL_UCP ERROR|TL_NCCL ERROR|TL_CUDA ERROR|TL_MLX5 ERROR|TL_RCCL ERROR|"
           r"TL_SELF ERROR|TL_SPIN ERROR|CL_BASIC ERROR|CL_HIER ERROR|CL_DOCA_UROM ERROR|cuda mc ERROR|cuda ec ERROR) +"
           r"(?P<message>.+)", "error", note="UCC, the library of collectives over UCX, reports a failure."),
    RecordPattern("ucx.fatal", _HEAD + r"FATAL +(?P<message>.+)", "fatal", read_peer, "UCX ends the process.", priority=1),
    RecordPattern("ucx.warning", _HEAD + r"WARN +(?P<message>.+)", "warning", read_peer, "UCX warns; the job goes on."),
    RecordPattern("ucx.warning", _HEAD + r"DIAG +(?P<message>.+)", "info", read_peer,
           "UCX notes something for its developers.", often=True),
    RecordPattern("ucx.signal",
           r"(?:\[(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10}) ?:\d+(?: ?:\d+)?\] +)Caught signal "
           r"(?P<signal>\d+) \("
           r"(?P<message>[^)]{1,200})\)", "fatal", read_crash, "A rank crashed; UCX printed its stack.", priority=3),
    RecordPattern("ucx.version", r"\bUC[PX] (?:version is|library version|version:?) (?P<version>\d+\.\d+(?:\.\d+)?)", "info",
           note="The version of UCX."),
)  # fmt: skip

_FI = (
    r"libfabric:(?:(?P<by_pid>\d{1,10}):)?(?:\d{6,}:)?(?:[\w.-]*:)?(?P<provider>[\w;]+):(?P<area>\w+):"
    r"(?P<function>\w*)\(?\)?:\d+ ?<(?:warn|error|critical)>:? *"
    r"(?:(?P<by_host>[a-z][a-z-]{0,30}\d[\w.-]{0,200}): (?=\S))?"
)
"""The head of a line of libfabric: before 1.6 without the process; the cxi provider says its host first."""
_FI_HANDLED = r"err: \d{1,5}, message: "
"""So the EFA provider reports a transfer or an endpoint that failed."""
_FI_HOSTS = (
    r"(?:[^\n]{0,300}?\bMy host id: (?P<by_host>i-[0-9a-f]+)(?:[^\n]{0,300}?Peer host id: (?P<peer>i-[0-9a-f]+))?)?"
)
"""The two instances, which EFA names behind the message."""
_FI_MILD = (
    r"hmem|HMEM|dlopen|No data available|[Dd]isabling|not supported|[Nn]ot found|deprecated|is not set|"
    r"[Uu]nable to (?:find|open|load)|libcuda|librocm|libze_|FI_\w+ .* unset|fork|huge|shm_open failed"
)

LIBFABRIC = (
    RecordPattern("libfabric.error", _FI + rf"(?P<message>{_FI_HANDLED}{_FI_HOSTS}.*)", "error", read_peer, priority=2,
           note="A transfer or an endpoint of libfabric failed."),
    RecordPattern("libfabric.warning", _FI + rf"(?P<message>.{{0,300}}?(?:{_FI_MILD}).*)", "warning", priority=1,
           note="libfabric notes that it goes on without something."),
    RecordPattern("libfabric.error", _FI +
           r"(?P<message>.{0,300}?(?:[Ee]rror|ERROR|[Ff]ail|FAIL|refused|reset by peer|timed out|[Uu]nreachable|"
           r"[Cc]annot|[Uu]nable to (?:register|create|allocate|post|bind|enable|write|map)|Invalid argument|"
           r"abort|Abort|UNDELIVERABLE|PTLTE|exceeded|returned (?!Success\b|success\b)[A-Z]).*)", "error", read_peer,
           note="libfabric reports a failure."),
    RecordPattern("libfabric.warning", _FI + r"(?P<message>.+)", "warning", priority=-1, note="libfabric warns."),
    RecordPattern("libfabric.error",
           r"(?P<message>Libfabric (?P<provider>EFA|\w+) provider(?: has encountered an)? internal error.*)", "fatal",
           note="libfabric met an error that it cannot report to its caller."),
)  # fmt: skip

FABTESTS = (
    RecordPattern("libfabric.error", r"^(?P<function>f[it]_\w{2,40})\(\): (?P<file>[\w./-]{1,200}\.c):\d+, "
           r"ret=-(?P<errno>\d{1,4}) \((?P<message>[^)\n]{2,120})\)", "error",
           note="A call of libfabric failed in one of its own tests.",
           scan=r"f[it]_\w{2,40}\(\): .{1,200}\.c:\d+, ret=-"),
    RecordPattern("libfabric.error", r"^\[error\] (?:\d{6,}:)?fabtests:(?P<file>[\w./-]{1,200}\.c):\d+: (?P<message>\S.*)",
           "error", read_peer, "One of libfabric's own tests reports an error.",
           scan=r"\[error\] (?:\d{6,}:)?fabtests:"),
)  # fmt: skip

_PSM_LABEL = (
    r"(?:^[#\s]*(?P<by_host>[A-Za-z][\w-]{0,62})(?:\.[a-z][\w.-]{0,100})?\.\d+(?=[hipPAm])|"
    r"^[#\s]*(?P<by_host>[\w-]{1,63})(?:\.[\w.-]{1,100})?:(?:rank(?P<by_rank>\d{1,7})|pid(?P<by_pid>\d{1,10}))"
    r"(?:\.[\w.-]{1,80})?: )?"
)
"""PSM puts HOST.PID or HOST.RANK straight before its text, without a blank between; PSM3 ``HOST:rankN.PROGRAM: `` or
``HOST:pidN: ``."""
_PSM_WORDS = r"(?:[Ff]ail|[Ee]rror|[Uu]nable|can't open|[Cc]annot|died|timed out|stray process|err=\d+)"

_PSM_OWN = (
    r"(?:An unrecoverable error occurred while communicating with the driver|Couldn't get (?:lid|gid|lid&gid) |"
    r"Can't get HFI (?:GID|LID) in |Couldn't allocate (?:getreq|tid) descriptor|Couldn't set device pkey |"
    r"Failed to tid free |Hardware problem: |ErrPkt: |Connection error: Service Level mismatch|"
    r"Incompatible settings for PSM2_|CUDA version of hfi1 driver is loaded|Diags assertion failure: |"
    r"Error (?:mmapping|creating|opening|setting size of|validating) (?:remote )?shared memory)"
)
"""Words of PSM's own error handler, which puts HOST.PID and the program's name before them (psm_error.c)."""

PSM = (
    RecordPattern("psm.warning", _PSM_LABEL + r"(?P<message>PSM[23]? no hfi units are (?:active|available).*)", "warning",
           note="This host has no Omni-Path card that is up; MPI takes another transport.", priority=2),
    RecordPattern("psm.error", r"(?P<message>Trying to connect to a HFI \(subnet id.*|PSM Endpoint is closed or does not "
           r"exist.*)", "error", read_peer, note="A connection over the PSM transport failed."),
    RecordPattern("psm.error", _PSM_LABEL +
           r"(?:\b|^|(?<=\.\d{1,10}))(?P<message>(?:PSM[23]?|psm[23]_\w+(?:\(\))?|hfi_(?:userinit|wait_for_device)\w*|map_hfi_mem|"
           rf"ipath_userinit|hfp_\w+)[ :].*{_PSM_WORDS}.*)", "error", read_peer,
           scan=r"PSM[23] |PSM[23]: |PSM (?:[Ee]rr|EP |conn|fail|unab|time|died|coul)|psm[23]_(?:ep_|mq_|init|am_|hfi|"
           r"perf|error|ips)|hfi_userinit|hfi_wait_for_device|map_hfi_mem|ipath_userinit|hfp_(?:gdr|cuda|self|rv_)",
           note="The PSM transport (Omni-Path, or verbs under Intel MPI) reports a failure."),
    RecordPattern("psm.error", r"(?P<message>PSM[23]? (?:was unable to open|can't open|could not|endpoint|EP)\b.*)", "error",
           read_peer, priority=-1, note="The PSM transport could not be opened."),
    RecordPattern("psm.error", r"(?P<message>Exhausted \d+ MQ i(?:send|recv) request descriptors.*)", "fatal",
           note="PSM keeps no more open sends or receives at a time; it ends the process."),
    RecordPattern("psm.error", r"^[#\s]*(?P<by_host>[A-Za-z][\w-]{0,62})(?:\.[a-z][\w.-]{0,100})?\.\d{1,10}"
           rf"[A-Za-z_][\w.+-]{{0,80}}: (?P<message>.{{0,80}}?{_PSM_OWN}.*)", "fatal", priority=1, scan=_PSM_OWN,
           note="The PSM library ends this process."),
    RecordPattern("psm.error", _PSM_LABEL + r"(?P<message>Assertion failure at (?P<file>[\w./-]{1,200}\.c):\d+: .*)", "fatal",
           note="A check inside the PSM library failed; it ends the process."),
    RecordPattern("psm.error", r"(?P<message>Received \d+ out-of-context eager message\(s\) from stray process.*)", "error",
           note="A message of another job arrived on the fabric."),
)  # fmt: skip

VERBS = (
    RecordPattern("verbs.warning", r"libibverbs: Warning: (?P<message>.+)", "warning", often=True,
           note="The verbs library warns about a device or a limit."),
    RecordPattern("verbs.warning", r"(?P<message>This will severely limit memory registrations)", "warning", priority=-1,
           note="The limit of locked memory is small."),
    RecordPattern("verbs.completion", r"\bmlx5: (?P<by_host>[\w.-]+): got completion with error:", "error", read_error_entry,
           note="The network card completed a transfer with an error."),
    RecordPattern("verbs.completion",
           r"\b(?P<library>mlx4): (?P<message>local QP operation err|local protection err|[\w ]+ err) \(QPN", "error",
           note="The network card completed a transfer with an error."),
    RecordPattern("verbs.completion", rf"^(?P<message>.{{0,400}}?\b(?:{_WC_WORDS})\b.*)", "error", read_completion,
           priority=-7, scan=_WC_WORDS, note="A program completed an RDMA transfer with an error."),
    RecordPattern("verbs.error",
           r"^(?:lib(?:mlx[45]|ibverbs|rdmacm|efa)\w*|mlx[45]): (?P<message>.{0,300}?(?:[Ff]ail|[Ee]rror|[Cc]ould ?n.t|"
           r"[Uu]nable).*)", "error", read_peer, priority=-2, note="A library of the network card reports a failure.",
           scan=r"libmlx[45]|libibverbs|librdmacm|libefa|mlx[45]: "),
    RecordPattern("verbs.error",
           r"\b(?P<message>ibv_(?:reg_mr|open_device|create_(?:qp|cq|srq|ah)|modify_qp|alloc_pd|get_device_list|"
           r"poll_cq|post_\w+)\w*(?:\(.*?\))?:? (?:failed|error|returned).*)", "error", read_peer, priority=-6,
           note="A verbs call failed."),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*COMPLETIONS, *ERRORS, *LIBFABRIC, *FABTESTS, *PSM, *VERBS)

SIGNS: LifecycleSigns = {
    "libfabric.error": ("lost peer",),
    "ucx.connection": ("lost peer",),
    "ucx.signal": ("own end",),
}

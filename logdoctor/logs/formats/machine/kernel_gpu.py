"""GPU drivers and GPU health tools: NVRM, Xid, SXid, nvidia-peermem, fabric manager, DCGM, gpud, amdgpu.

Kinds and their fields (``bus_id`` is domain:bus:slot as printed, without the function digit):

- ``kernel.xid`` xid (int), bus_id, pid, name (the process that owned the channel, not always the guilty one),
  gpu_instance, compute_instance, previous_xid, link (NVLink); the event's text is the driver's sentence without head.
  What the catalogue of Xids calls a report is a warning
- ``kernel.sxid`` sxid, bus_id, severity (Fatal, Non-fatal), link; ``kernel.sxid_data`` the lines with raw registers
- ``kernel.nvrm_lost`` bus_id: the driver itself says that a GPU is off the bus
- ``kernel.nvrm_init`` bus_id, code: a GPU or the driver could not be initialised
- ``kernel.nvrm_mismatch`` client_version, module_version
- ``kernel.nvrm_gsp`` the GPU's firmware does not answer, ``kernel.nvrm_nvlink`` NVLink trouble told by the driver
- ``kernel.nvrm`` any other complaint of the driver; ``kernel.nvrm_info`` what is no complaint: version, bus_id, uuid
- ``kernel.peermem`` nvidia-peermem; ``kernel.amdgpu`` amdgpu's own faults (bus_id, event)
- ``gpu.receive_manager`` found, wanted (GPUs), message: the daemon of GPUDirect-TCPXO
- ``gpu.fabric_manager`` (message), ``gpu.lost`` (bus_id, message), ``gpu.health`` (message), ``gpu.ecc`` (count)

Shapes: open-gpu-kernel-modules nv.c, nv-pci.c, kernel_rc.c, kernel_gsp.c (470-580), the NVSwitch driver,
nv-fabricmanager.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.codes import catalogue
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Level, Value
from logdoctor.pack.regexes import later

_HEX = "[0-9a-fA-F]"
_BUS = rf"(?P<bus_id>{_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}})(?:\.{_HEX})?"
_MORE = later(r"^(?:\[[^\]]{0,40}\]\s?)*\s*NVRM:\s+(?!Xid|GPU |The NVIDIA|loading|rm_|nv_)(?P<more>\S.*)")
_MAX_MORE = 4
_LOST = later(r"fallen off the bus")
_NONFATAL = later(r"[A-Z_]{3,24} Nonfatal ")
_LINK = later(r"\b[Ll]ink (?P<link>\d{1,3})\b")


def _level(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Set the level of an Xid from the catalogue and the message.

    It is a warning if the catalogue says so, or if the text says Nonfatal. Else it is an error.
    """
    del below
    entry = catalogue("xid").find(fields.get("xid", ""))
    text = str(fields.get("text", head.text))
    mild = (entry and entry.columns["level"] == "warning") or _NONFATAL.match(text)
    level: Level = "warning" if mild else "error"
    link = _LINK.search(text)
    return Multiline(text, {"link": int(link["link"])} if link else {}, level=level)


_XID_TAIL = (
    r"(?P<xid>\d+)\b"
    r"(?:, pid='?(?:(?P<pid>[1-9]\d*)|0|<unknown>|unknown)'?)?"
    r"(?:, name=(?:<unknown>|(?P<name>[^,<]{1,64})))?"
    r"(?:,? (?P<text>\S.*?))?(?:,? caused by previous Xid (?P<previous_xid>\d+).*)?$"
)
_XID = (
    rf"(?<!S)Xid \((?:PCI:)?{_BUS}(?: GPU-I:(?P<gpu_instance>\d+))?(?: GPU-CI:(?P<compute_instance>\d+))?\): "
    + _XID_TAIL
)


def read_sentence(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Join the lines of a driver message. Each begins with ``NVRM:``.

    If a line says that the GPU fell off the bus, that line is quoted.
    """
    del fields
    words: list[str] = [head.text]
    taken: list[int] = []
    evidence = 0
    for message in below:
        more = _MORE.match(message.text)
        if more is None or len(taken) == _MAX_MORE:
            break
        words.append(more["more"])
        taken.append(message.below)
        if _LOST.search(message.text):
            evidence = message.below
    return Multiline(" ".join(words), {}, tuple(taken), evidence)


def read_device(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a message ``The NVIDIA GPU …`` of several lines.

    Return None unless it says that the GPU fell off the bus.
    """
    multiline = read_sentence(head, fields, below)
    return multiline if multiline is not None and _LOST.search(multiline.text) else None


XID = (
    RecordPattern(
        "kernel.xid",
        _XID,
        level="error",
        read_lines=_level,
        scan=r"Xid \((?:PCI:)?[0-9a-fA-F]{4,8}:",
        note="The GPU driver reports an event of a GPU or of the program that ran on it.",
    ),
    RecordPattern(
        "kernel.xid",
        r"(?<!S)Xid \((?:PCI:)?" + _BUS + r".{0,40}?\): (?P<xid>\d+)",
        level="error",
        read_lines=_level,
        scan=r"Xid \((?:PCI:)?[0-9a-fA-F]{4,8}:",
        priority=-1,
        note="The GPU driver reports an event of a GPU or of the program that ran on it.",
    ),
    # a ticket whose author has taken the address out: (PCI:...), (PCI:xxxx:xx:00), (PCI:<redacted>)
    RecordPattern(
        "kernel.xid",
        rf"NVRM: Xid \((?!(?:PCI:)?{_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}})[^()\n]{{1,40}}\): " + _XID_TAIL,
        level="error",
        read_lines=_level,
        scan=r"NVRM: Xid \(",
        note="The GPU driver reports an event of a GPU or of the program that ran on it.",
    ),
    RecordPattern(
        "kernel.xid",
        rf"(?:\bPCI:{_BUS}.{{0,160}}?)?\bDetected XID (?P<xid>\d{{1,3}}) for GPU (?P<device>\d{{1,3}})\b",
        level="error",
        read_lines=_level,
        scan=r"Detected XID \d",
        note="A watch over the GPUs (DCGM) passes on an event of the driver.",
    ),
    # the driver's line retold with fewer words: time, number, and what only the driver says
    RecordPattern(
        "kernel.xid",
        rf"^(?!.{{0,120}}NVRM: Xid).{{0,60}}?(?<!S)\bXid (?P<xid>\d{{1,3}})[ ,:](?: ?(?:PCI:)?{_BUS})?"
        r"(?P<text>.{0,80}?(?:\bpid=\d|\b(?:GPC|HUB)CLIENT_|UNRECOGNIZED_CLIENT|\bFAULT_P[DT]E\b).*)",
        level="error",
        read_lines=_level,
        priority=-1,
        scan=r"Xid \d{1,3}[ ,:].{0,120}(?:pid=\d|CLIENT_|_CLIENT|FAULT_P[DT]E)",
        note="The GPU driver reports an event of a GPU or of the program that ran on it.",
    ),
    RecordPattern(
        "kernel.sxid",
        rf"SXid \(PCI:{_BUS}\): (?P<sxid>\d+), (?P<severity>Fatal), (?:Link (?P<link>\d+) ?)?(?P<text>.*)",
        level="error",
        scan=r"SXid \(PCI:\S{8,20}\): \d+, Fatal",
        note="An NVSwitch reports a fault that ends the work of the GPUs behind it.",
    ),
    RecordPattern(
        "kernel.sxid",
        rf"SXid \(PCI:{_BUS}\): (?P<sxid>\d+), (?P<severity>Non-fatal), (?:Link (?P<link>\d+) ?)?(?P<text>.*)",
        level="warning",
        scan=r"SXid \(PCI:\S{8,20}\): \d+, Non-fatal",
        note="An NVSwitch reports a fault that it could handle.",
    ),
    RecordPattern(
        "kernel.sxid_data",
        rf"SXid \(PCI:{_BUS}\): (?P<sxid>\d+), (?:Data|Severity)\b",
        level="info",
        scan=r"SXid \(PCI:\S{8,20}\): \d+, (?:Data|Severity)",
        note="Raw values that belong to an NVSwitch fault.",
    ),
)

NVRM = (
    RecordPattern(
        "kernel.nvrm_lost",
        rf"NVRM: (?:\S+: )?GPU (?:at )?(?:PCI:)?{_BUS}:? .{{0,60}}?fallen off the bus",
        level="error",
        scan=r"NVRM: .{0,120}fallen off the bus",
        note="The GPU driver cannot reach this GPU over PCIe any more.",
    ),
    RecordPattern(
        "kernel.nvrm_lost",
        rf"NVRM: The NVIDIA GPU {_BUS}",
        level="error",
        read_lines=read_device,
        priority=1,
        note="The GPU driver cannot reach this GPU over PCIe any more.",
    ),
    RecordPattern(
        "kernel.nvrm_lost",
        r"NVRM: .{0,80}?fallen off the bus",
        level="error",
        priority=-1,
        scan=r"NVRM: .{0,120}fallen off the bus",
        note="The GPU driver cannot reach a GPU over PCIe any more.",
    ),
    RecordPattern(
        "kernel.nvrm_lost",
        r"NVRM: .{0,200}?(?:GPU lost from the bus|\[NV_ERR_GPU_IS_LOST\]|\bstatus(?: ?[=:] ?| )0x0{6,7}[fF]\b)",
        level="error",
        scan=r"GPU lost from the bus|NV_ERR_GPU_IS_LOST|NVRM: .{0,240}status.{1,3}0x0{6,7}[fF]\b",
        note="A call inside the GPU driver failed because a GPU is lost (status 0x0F): it does not answer over PCIe.",
    ),
    RecordPattern(
        "kernel.nvrm_init",
        rf"NVRM: (?:GPU )?(?:at )?(?:PCI:)?(?:{_BUS}: )?(?:RmInitAdapter failed|rm_init_adapter failed)"
        r"(?:! \((?P<code>[^)]*)\))?",
        level="error",
        scan=r"RmInitAdapter failed|rm_init_adapter failed",
        note="The GPU driver could not initialise this GPU.",
    ),
    RecordPattern(
        "kernel.nvrm_init",
        rf"NVRM: (?:The NVIDIA GPU {_BUS}|The NVIDIA probe routine failed|"
        r"No NVIDIA (?:GPU|graphics adapter|devices?) (?:found|probed)|NVIDIA init module failed|"
        r"None of the NVIDIA (?:devices|graphics adapters)|The NVIDIA probe routine was not called)",
        level="error",
        read_lines=read_sentence,
        scan=r"NVRM: (?:The NVIDIA (?:GPU|probe)|No NVIDIA \w|NVIDIA init module|None of the NVIDIA)",
        note="The GPU driver could not take over a GPU.",
    ),
    RecordPattern(
        "kernel.nvrm_mismatch",
        r"NVRM: API mismatch: the client(?: '[^']*')?(?: \(pid (?P<pid>\d+)\))?(?:\s+NVRM:)? has the "
        r"version (?P<client_version>[\d.]+)",
        level="error",
        read_lines=read_sentence,
        scan=r"NVRM: API mismatch: ",
        note="A program's NVIDIA library has another version than the loaded kernel module.",
    ),
    RecordPattern(
        "kernel.nvrm_mismatch",
        r"NVRM: API mismatch: ",
        level="error",
        read_lines=read_sentence,
        priority=-1,
        note="A program's NVIDIA library has another version than the loaded kernel module.",
    ),
    RecordPattern(
        "kernel.nvrm_gsp",
        r"NVRM: .{0,100}?(?:GSP Timeout|Timeout (?:after \d+s of )?waiting for RPC|GSP-CrashCat|kgspHealthCheck|"
        r"(?:GSP RM h|H)eartbeat timed out|GSP is not responding|rpcRecvPoll\w*: .{0,40}timeout|_kgspLogXid119)",
        level="error",
        scan=r"NVRM: .{0,100}(?:GSP|waiting for RPC|rpcRecvPoll|kgspHealthCheck|_kgspLogXid119|Heartbeat timed out)",
        note="The firmware on the GPU (GSP) does not answer the driver.",
    ),
    RecordPattern(
        "kernel.nvrm_nvlink",
        r"NVRM: .{0,120}?(?:[Nn]v[Ll]ink|NVLINK).{0,120}?(?:fail|error|fault|timeout|degraded)",
        level="error",
        scan=r"NVRM: .{0,120}(?:[Nn]v[Ll]ink|NVLINK)",
        note="The GPU driver has trouble with NVLink.",
    ),
    RecordPattern(
        "kernel.nvrm_info",
        r"NVRM: loading NVIDIA UNIX .{0,80}?Kernel Module(?: for \S+)?\s+(?P<version>[\d.]+)",
        level="info",
        scan=r"NVRM: loading NVIDIA UNIX ",
        note="The version of the loaded GPU driver.",
    ),
    RecordPattern(
        "kernel.nvrm_info",
        rf"NVRM: GPU at (?:PCI:)?{_BUS}: (?P<uuid>GPU-[0-9a-f-]+)",
        level="info",
        note="Which GPU (UUID) has this bus address.",
    ),
    RecordPattern(
        "kernel.nvrm_info",
        r"NVRM: (?:GPU Board Serial Number|A GPU crash dump has been created|GPU \S+ GPU is on Board|"
        r"GPU \S+ is already)",
        level="info",
        note="The GPU driver names a GPU or its dump.",
    ),
    RecordPattern(
        "kernel.nvrm",
        "^.{0,120}?NVRM: .{0,200}?(?:[Ff]ail|FAIL|[Ee]rror|ERR|[Tt]imeout|timed out|[Aa]ssert|not responding|"
        "invalid|[Cc]an't|"
        r"[Cc]annot)",
        level="error",
        scan=r"NVRM: ",
        priority=-1,
        note="The GPU driver complains.",
    ),
    RecordPattern("kernel.nvrm_info", r"NVRM: ", level="info", priority=-2, note="A message of the GPU driver."),
    RecordPattern(
        "kernel.peermem",
        r"nvidia[-_]peermem.{0,80}?(?:ERROR|[Ee]rror|failed|[Ii]nvalid)",
        level="warning",
        scan=r"nvidia[-_]peermem.{0,80}(?:ERROR|[Ee]rror|failed|[Ii]nvalid)",
        note="The module that lets network cards read GPU memory reports trouble.",
    ),
    RecordPattern(
        "kernel.amdgpu",
        rf"(?:amdgpu {_BUS}|\bdrmn\d+): (?:amdgpu: )?.{{0,80}}?(?:(?P<event>ring \S+ timeout)(?!, but soft recovered)|"
        r"GPU reset(?:\(\d+\))? (?:begin|succeeded|failed)|VRAM is lost|"
        r"(?<!\b0 )(?<!\b0 new )[Uu]ncorrectable|RAS poison|bad pages? .{0,40}threshold|"
        r"device lost from bus|page fault|GPU fault detected|"
        r"(?P<event>MES failed)|failed to)",
        level="error",
        scan=r"(?:amdgpu|drmn\d+:) .{0,100}(?:ring \S+ timeout|GPU reset(?:\(\d+\))? (?:begin|succeeded|failed)|"
        "VRAM is lost|[Uu]ncorrectable|RAS poison|reaches threshold|device lost from bus|page fault|GPU fault)",
        note="The AMD GPU driver reports a fault of this GPU.",
    ),
    # [drm:FUNC [amdgpu]] *ERROR* on Linux, [drm ERROR :FUNC] on FreeBSD
    RecordPattern(
        "kernel.amdgpu",
        r"\[drm(?::\w{3,60}(?: \[amdgpu\])?\] \*ERROR\*| ERROR :\w{3,60}\]) (?:amdgpu: )?"
        r"(?P<event>ring \S+ (?:timeout(?!, but soft|, signaled seq=\d+, but soft)|test failed)|"
        r"MES failed|VRAM is lost)",
        level="error",
        scan=r"\[drm.{3,80}(?:ERROR.{1,70}ring \S+ (?:timeout|test failed)|MES failed to res|VRAM is lost)",
        note="Work on a ring (a queue) of an AMD GPU did not end in time; the driver resets the GPU next.",
    ),
)

TOOLS = (
    RecordPattern(
        "gpu.fabric_manager",
        r"(?P<message>request to query NVSwitch device information .{0,60}failed.{0,120}|"
        r"[Ff]abric [Mm]anager (?:is not running|failed|config file item: \S{1,60} has an invalid value).{0,120}|"
        r"nv-fabricmanager\b.{0,160}failed!.{0,60}|"
        r"fabricmanager\.service: .{0,60}(?:status=\d*[1-9]|[Ff]ailed).{0,60}|"
        r"Job for nvidia-fabricmanager\.service failed .{0,120}|"
        r"(?:detected|Detected) NVSwitch (?:fatal|non-fatal) error.{0,160}|NVLink .{0,30}training failed.{0,120})",
        level="error",
        scan=r"query NVSwitch device information .{0,60}failed|[Ff]abric [Mm]anager (?:is not running|failed|"
        r"config file item: )|"
        r"nv-fabricmanager.{0,160}failed!|Job for nvidia-fabricmanager\.service failed|"
        r"fabricmanager\.service: .{0,60}(?:status=\d*[1-9]|[Ff]ailed)|"
        r"etected NVSwitch (?:fatal|non-fatal) error|NVLink .{0,30}training failed",
        note="The service that connects GPUs over NVSwitch does not work.",
    ),
    RecordPattern(
        "gpu.receive_manager",
        r"(?P<message>Number of GPUs detected in the PCI tree (?P<found>\d+) is not equal to the actual number of GPUs "
        r"reported by CUDA (?P<wanted>\d+))",
        level="error",
        note="Google's receive data-path manager (rxdm, GPUDirect-TCPXO) sees fewer GPUs than CUDA and ends.",
    ),
    RecordPattern(
        "gpu.lost",
        rf"Unable to determine the device handle for [Gg][Pp][Uu]\s?(?:\d: )?(?:{_BUS})?:? ?(?P<message>.*)",
        level="error",
        scan=r"Unable to determine the device handle for ",
        note="nvidia-smi cannot reach a GPU.",
    ),
    RecordPattern(
        "gpu.lost",
        r"(?P<message>GPU is lost\b.{0,80}|GPU requires reset.{0,40})",
        level="error",
        scan=r"GPU is lost|GPU requires reset",
        note="A tool reports that a GPU cannot be used without a reset or reboot.",
    ),
    RecordPattern(
        "gpu.health",
        "(?P<message>(?:Row Remap(?:per|ping)? Failure|Remapping Failure Occurred|Pending (?:Page )?(?:Blacklist|"
        "Retirement))"
        r"\s*: (?:Yes|True|1))",
        level="error",
        scan=r"(?:Row Remap|Remapping Failure|Pending ).{0,40}: (?:Yes|True|1)",
        note="A GPU has bad memory rows that could not be replaced yet.",
    ),
    RecordPattern(
        "gpu.ecc",
        r"(?:DRAM |SRAM )?Uncorrectable(?: Parity| SEC-DED)?\s*: (?P<count>[1-9]\d*)\s*$",
        level="warning",
        scan=r"Uncorrectable.{0,20}: [1-9]",
        note="A GPU counts memory errors that could not be corrected.",
    ),
    RecordPattern(
        "gpu.health",
        r"(?P<message>\bdcgm\S{0,20}.{0,80}(?:health|diag)\w*.{0,40}?(?:[Ff]ail|FAIL|Failure).{0,120})",
        level="error",
        scan=r"dcgm(?:i|_|-|Health|Diag|Group|Policy).{0,100}(?:health|diag).{0,60}[Ff][Aa][Ii][Ll]",
        note="A GPU health check failed.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (*XID, *NVRM, *TOOLS)

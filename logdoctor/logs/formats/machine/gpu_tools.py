"""GPU management outside of the driver: modules, NVML, daemons, IMEX.

Also further lines of AMD's driver.

Kinds and their fields:

- ``gpu.module`` module, message: a GPU kernel module could not be loaded
- ``gpu.nvml`` message: NVML refused (Python and command line)
- ``gpu.service`` message: nvidia-persistenced, nv-hostengine, nvidia-imex or the fabric manager does not work
- ``gpu.fabric_log`` message: an error in the log file of the fabric manager or of nvidia-imex
- ``gpu.switch`` message: the NVSwitch or NVLink driver
- ``gpu.links`` device, down, message: dcgmi says that NVLinks of this GPU or switch are down
- ``gpu.peer`` message: GPU memory could not be shared with another device
- ``kernel.amdgpu`` bus_id, message: more faults of AMD GPUs; ``kernel.kfd`` message: their compute driver
- ``kernel.habanalabs`` bus_id, device, message: the driver of Gaudi; ``gpu.gaudi`` message: its library

Sources: open-gpu-kernel-modules 595, DCGM 3-4, nvidia-persistenced 470-580, nvidia-imex 560-580, GDRCopy 2.5, amdgpu
of Linux 5.15-6.8 (kfd_int_process_v10.c for sq_intr).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_HEX = "[0-9a-fA-F]"
_BUS = rf"(?P<bus_id>{_HEX}{{4}}:{_HEX}{{2}}:{_HEX}{{2}})\.\d"
_NO_MODULE = "A kernel module of the GPU driver could not be loaded."

_LINKS = later(r"^ *(?:[UDX_] ){1,71}[UDX_] *$")
"""The states of the links of one GPU or switch: up, down, disabled, not supported."""


def read_links(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Count the links that are down in the line below."""
    for stripped_line in islice(below, 1):
        states = stripped_line.text.split() if _LINKS.search(stripped_line.text) else []
        if down := states.count("D"):
            message = f"{down} of {len(states)} NVLinks are down"
            return Multiline(
                f"{head.text.strip()} {stripped_line.text.strip()}", {**fields, "down": down, "message": message}
            )
    return None


NVIDIA = (
    RecordPattern(
        "gpu.links",
        r"^ {0,12}(?:gpuId|physicalId|nvSwitchId) (?P<device>\d{1,3}): *$",
        level="error",
        read_lines=read_links,
        scan=r"^ {0,12}(?:gpuId|physicalId|nvSwitchId) \d{1,3}: *\r?$",
        note="Some NVLinks of this GPU or switch are down (dcgmi nvlink --link-status).",
    ),
    RecordPattern(
        "gpu.module",
        r"(?P<module>nvidia[\w-]*|nv_peer_mem|amdgpu|gdrdrv): (?P<message>disagrees about version of symbol.{0,80}|"
        r"version magic '.{0,160}|Unknown symbol .{0,80}|Failed to load module.{0,120})",
        level="error",
        scan=r"(?:nvidia|nv_peer_mem|amdgpu|gdrdrv).{0,20}: (?:disagrees about version of symbol|version magic '|"
        r"Unknown symbol |Failed to load module)",
        note=_NO_MODULE,
    ),
    RecordPattern(
        "gpu.module",
        r"(?:modprobe|insmod): (?:ERROR|FATAL): (?P<message>(?:could not insert|Module).{0,20}?(?P<module>nvidia[\w-]*|"
        r"nv_peer_mem|amdgpu|gdrdrv).{0,120})|(?P<message>failed to load (?P<module>nvidia[\w-]*) module)",
        level="error",
        scan=r"(?:modprobe|insmod): (?:ERROR|FATAL): (?:could not insert|Module)|"
        r"failed to load nvidia[\w-]{0,12} module",
        note=_NO_MODULE,
        priority=1,
    ),
    RecordPattern(
        "gpu.nvml",
        r"(?:py)?nvml\w*\.NVMLError_?(?P<name>\w{0,40}): (?P<message>.{1,160})",
        level="error",
        scan=r"NVMLError_?\w{0,40}: ",
        note="The NVIDIA management library refused.",
        priority=-1,
    ),
    RecordPattern(
        "gpu.service",
        r"nvidia-persistenced(?:\[\d+\])?: (?P<message>Failed to .{1,240}|Unable to .{1,160})",
        level="error",
        scan=r"nvidia-persistenced(?:\[\d+\])?: (?:Failed to|Unable to)",
        note="The daemon that keeps the GPUs initialised could not do so.",
    ),
    RecordPattern(
        "gpu.service",
        r"(?P<message>nv-hostengine(?:\[\d+\])?: Err: .{1,160}|(?:Error: )?(?:[Uu]nable to connect to host engine|"
        r"Host engine (?:connection invalid|not available)).{0,160}|Failed to start DCGM Server.{0,60}|"
        r"Failed to start host engine server|Got error \d+ while waiting for SIGUSR1 from child process)",
        level="error",
        scan=r"nv-hostengine.{0,12}: Err: |nable to connect to host engine|Host engine (?:connection invalid|not "
        r"avail)|Failed to start host engine server|while waiting for SIGUSR1 from child process",
        note="The GPU health service (DCGM) cannot be reached.",
        priority=1,
    ),
    RecordPattern(
        "gpu.service",
        r"nvidia-imex\S{0,12}: .{0,60}?\[ERROR\] (?P<message>.{1,200})",
        level="error",
        scan=r"nvidia-imex.{0,80}\[ERROR\]",
        note="The service that shares GPU memory between the nodes of a rack (IMEX) does not work.",
        priority=1,
    ),
    RecordPattern(
        "gpu.fabric_log",
        r"\[[A-Z][a-z]{2} {1,2}\d{1,2} \d{4} \d\d:\d\d:\d\d\] \[(?:ERROR|CRITICAL|FATAL)\] \[tid \d{1,9}\] "
        r"(?P<text>(?P<message>\S[^\n]{3,400}))",
        level="error",
        scan=r"\] \[(?:ERROR|CRITICAL|FATAL)\] \[tid \d",
        note="The fabric manager or IMEX, which connect GPUs over NVLink, report a failure in their log.",
        priority=1,
    ),
    RecordPattern(
        "gpu.module",
        r"^(?:ERR: {1,2})(?P<message>error opening driver \(errno=.{1,80}|Error getting the (?P<module>gdrdrv) driver "
        r"version .{1,120}|Error: gdrcopy requires (?P<module>gdrdrv) .{1,120})|^(?P<message>gdr_open error: Is "
        r"(?P<module>gdrdrv) driver installed and loaded\?)",
        level="error",
        scan=r"ERR: {1,2}(?:error opening driver \(errno=|Error getting the gdrdrv driver|Error: gdrcopy requires)"
        r"|gdr_open error: Is gdrdrv driver",
        note="GDRCopy, with which the CPU writes GPU memory, does not reach its kernel module.",
    ),
    RecordPattern(
        "gpu.service",
        r"nv-fabricmanager\S{0,12}: (?P<message>(?:failed to|unable to) .{1,200})",
        level="error",
        scan=r"nv-fabricmanager.{0,12}: (?:failed to|unable to)",
        note="The service that connects GPUs over NVSwitch could not do its work.",
    ),
    RecordPattern(
        "gpu.health",
        r"nv-fabricmanager\S{0,12}: (?P<message>detected NVSwitch non-fatal error .{1,160})",
        level="warning",
        scan="detected NVSwitch non-fatal error",
        note="An NVSwitch reports a fault that it could handle.",
        priority=2,
    ),
    RecordPattern(
        "gpu.switch",
        r"nvidia-nvswitch\d*: (?P<message>Failed to (?:register|initialize|enable|map|request|create|re-schedule|"
        r"read).{0,120}|"
        r"unrecoverable error in ISR|Version mismatch.{0,120}|.{0,40}Interrupts disabled to avoid a storm.{0,40})",
        level="error",
        scan=r"nvidia-nvswitch\d*: (?:Failed to |unrecoverable error|Version mismatch|.{0,40}Interrupts disabled)",
        note="The NVSwitch driver could not do its work.",
    ),
    RecordPattern(
        "gpu.switch",
        r"nvidia-(?:nvlink|modeset): (?P<message>\[?ERROR\]?:? .{1,200})",
        level="error",
        scan=r"nvidia-(?:nvlink|modeset): \[?ERROR",
        note="A GPU driver module reports an error.",
    ),
    RecordPattern(
        "gpu.peer",
        r"(?P<message>nvidia[-_]peermem nv_\w{3,40}:\d+ (?:ERROR|error) .{1,120}|"
        r"nvidia_p2p_\w{3,30}(?:\(\))?: (?:failed|error).{0,60})",
        level="error",
        scan=r"nvidia[-_]peermem nv_\w{3,40}:\d+ (?:ERROR|error)|nvidia_p2p_\w{3,30}(?:\(\))?: (?:failed|error)",
        note="Network cards cannot read GPU memory directly.",
        priority=2,
    ),
    RecordPattern(
        "gpu.driver",
        rf"NVRM: (?:GPU (?:at )?(?:PCI:)?{_BUS}: )?(?P<message>GPU is probably locked.{{0,40}}|"
        r"\w{3,60}: \d+ left-over mappings in IOVAS.{0,40}|This PCI I/O region assigned to your NVIDIA device is "
        r"invalid.{0,40}|"
        r"request_irq\(\) failed.{0,40}|osHandleGpuLost: (?!GPU lost).{1,100}|"
        r".{0,60}NV_ERR_GPU_IN_FULLCHIP_RESET.{0,40})",
        level="error",
        scan=r"GPU is probably locked|left-over mappings in IOVAS|PCI I/O region assigned to your NVIDIA|"
        r"osHandleGpuLost",
        note="The GPU driver complains.",
        priority=1,
    ),
)

AMD = (
    RecordPattern(
        "kernel.amdgpu",
        rf"amdgpu {_BUS}: (?:amdgpu: )?(?P<message>GPU reset(?:\(\d+\))? failed.{{0,60}}|GPU reset end with ret = "
        rf"-.{{1,20}}|"
        r"MES (?:failed to|might be).{1,80}|\[xgmi\] .{0,40}[Ff]ailed.{0,60}|.{0,8}I'm not done with your "
        r"(?:previous )?"
        r"command.{0,80}|Fatal error during GPU init.{0,40}|"
        r"socket: \d+.{0,40}(?<!\b0 )new uncorrectable hardware errors.{0,60}|"
        r"Failed to (?:disallow|allow|export|retrieve|init|load|disable|enable|evict).{1,80}|ras .{0,40}poison.{0,80}|"
        r".{0,80}bad page threshold.{0,60})",
        level="error",
        scan=r"amdgpu .{0,40}(?:GPU reset|MES (?:failed|might)|\[xgmi\] .{0,40}ailed|I'm not done with your |"
        r"Fatal error during GPU init|new uncorrectable hardware errors|Failed to |bad page threshold)",
        note="The AMD GPU driver reports a fault of this GPU.",
        priority=1,
    ),
    RecordPattern(
        "kernel.amdgpu",
        r"(?:amdgpu|kfd)(?: [\da-f:.]{7,16})?: (?:amdgpu: )?(?P<message>sq_intr: error,.{0,120})",
        level="error",
        scan=r"sq_intr: error,",
        note="A wave on an AMD GPU met an illegal instruction, a bad address or defective memory.",
    ),
    RecordPattern(
        "kernel.kfd",
        r"(?:amdgpu|kfd): (?P<message>HIQ MQD's queue_doorbell_id0.{0,80}|qcm fence wait loop timeout expired.{0,40}|"
        r"The cp might be in an unrecoverable state.{0,80}|Failed to (?:evict|suspend|restore|resume|initialize|"
        r"remove|start) "
        r".{1,80}|Resetting wave fronts.{0,60}|Pasid 0x\w+ .{0,60}fail.{0,40})",
        level="error",
        scan=r"(?:amdgpu|kfd): (?:HIQ MQD's|qcm fence wait loop|The cp might be in|Failed to (?:evict|suspend|"
        r"restore|resume|"
        r"initialize|remove|start) |Resetting wave fronts)",
        note="The AMD GPU's queues do not answer the driver.",
    ),
)

GAUDI = (
    RecordPattern(
        "kernel.habanalabs",
        rf"habanalabs (?:{_BUS} ?)?(?:hl(?P<device>\d{{1,2}}))?: (?P<message>.{{0,80}}?(?:NOT usable|CPU-CP timeout|"
        r"[Ff]ailed to (?:initialize|communicate|load|reset)|[Hh]eartbeat (?:failed|timeout|failure)|[Dd]evice (?:is )?"
        r"(?:disabled|unusable)|[Gg]oing to (?:hard-|hard )?reset device|[Ff]atal (?:error|event)).{0,80})",
        level="error",
        scan=r"habanalabs .{0,120}(?:NOT usable|CPU-CP timeout|ailed to (?:initialize|communicate|load|reset)|"
        r"eartbeat (?:failed|timeout|failure)|evice (?:is )?(?:disabled|unusable)|reset device|atal (?:error|event))",
        note="The driver of Gaudi accelerators says that one of them does not work.",
    ),
    RecordPattern(
        "gpu.gaudi",
        r"(?P<message>synDeviceAcquire\(.{0,80}?failed with synapse error: \d+|The condition \[ \w+ \] failed\. "
        r"Invalid server type \(.{1,40}?\).{0,60})",
        level="error",
        scan=r"synDeviceAcquire\(.{0,80}failed with synapse error|failed\. Invalid server type \(",
        note="No Gaudi accelerator could be opened.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (*NVIDIA, *AMD, *GAUDI)

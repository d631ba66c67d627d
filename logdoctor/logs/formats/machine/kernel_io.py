"""Linux kernel messages about PCIe, network links and storage.

Kinds and their fields (``bus_id`` is domain:bus:slot, without the function digit):

- ``kernel.aer`` severity (Corrected, Uncorrected ...), bus_id: PCIe error reports; corrected ones are warnings
- ``kernel.aer_recovery`` outcome; ``kernel.dpc`` bus_id: a port was cut off; ``kernel.iommu`` a refused DMA access
- ``kernel.pcie`` bus_id, event: link down, card not present, device inaccessible; ``kernel.pcie_info`` width and speed
- ``kernel.link`` interface, state (down, up), bus_id; ``kernel.port_module`` event: cables and transceivers
- ``kernel.nic_health`` bus_id, message: firmware, command and transmit timeouts of a network card
- ``kernel.net`` message: tables of the network stack are full
- ``kernel.nfs`` server, state; ``kernel.lustre`` message; ``kernel.fs`` filesystem, device, message: file system errors
- ``kernel.disk`` device, message: I/O errors of a block device

Shapes: drivers/pci/pcie/{aer,dpc,err}.c (4.x-6.x), pciehp, mlx5 health.c/events.c, fs/nfs, lustre, fs/ext4,
fs/xfs, block/, nvme.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_HEX = "[0-9a-fA-F]"
_BUS = rf"(?P<bus_id>{_HEX}{{4}}:{_HEX}{{2}}:{_HEX}{{2}})\.\d"
_BUS_MAYBE = rf"(?:{_BUS}.{{0,60}}?)?"
_IFACE = r"(?P<interface>[A-Za-z][\w.@-]{1,30})"

PCIE = (
    RecordPattern(
        "kernel.aer",
        rf"{_BUS_MAYBE}(?:AER: .{{0,20}}?|severity=)(?P<severity>Correct(?:ed|able))\b",
        level="warning",
        scan=r"(?:AER: .{0,20}|severity=)Correct(?:ed|able)",
        note="A PCIe link had an error that was corrected by a repeat.",
    ),
    RecordPattern(
        "kernel.aer",
        rf"{_BUS_MAYBE}(?:AER: .{{0,20}}?|severity=)(?P<severity>Uncorrect(?:ed|able)(?: \((?:Non-)?Fatal\))?)",
        level="error",
        scan=r"(?:AER: .{0,20}|severity=)Uncorrect(?:ed|able)",
        note="A PCIe device or link had an error that could not be corrected.",
    ),
    RecordPattern(
        "kernel.aer_recovery",
        rf"{_BUS_MAYBE}AER: (?P<outcome>device recovery failed|can't recover.{{0,60}}|"
        r"subordinate device reset failed|Root Port reset failed)",
        level="error",
        scan=r"AER: (?:device recovery failed|can't recover|subordinate device reset failed|Root Port reset failed)",
        note="A PCIe device could not be brought back after an error.",
    ),
    RecordPattern(
        "kernel.aer_recovery",
        rf"{_BUS_MAYBE}AER: (?P<outcome>device recovery successful)",
        level="info",
        scan=r"AER: device recovery successful",
        note="A PCIe device was brought back after an error.",
    ),
    RecordPattern(
        "kernel.dpc",
        rf"{_BUS_MAYBE}DPC: (?:containment event|.{{0,20}}uncorrectable error detected)",
        level="error",
        scan=r"DPC: (?:containment event|.{0,20}uncorrectable error detected)",
        note="A PCIe port was cut off after an error of the device below it.",
    ),
    RecordPattern(
        "kernel.dpc",
        rf"EEH: (?:Frozen PE|PE location|.{{0,120}}permanently disabled).{{0,80}}?{_BUS_MAYBE}",
        level="error",
        scan=r"EEH: (?:Frozen PE|.{0,120}permanently disabled)",
        note="The platform cut a PCIe device off after an error.",
    ),
    RecordPattern(
        "kernel.pcie",
        rf"{_BUS_MAYBE}Slot\([^)]{{1,20}}\): (?P<event>Link Down|Card not present|No link|Power fault.{{0,20}})",
        level="error",
        scan=r"Slot\([^)]{1,20}\): (?:Link Down|Card not present|No link|Power fault)",
        note="A PCIe device disappeared from its slot.",
    ),
    RecordPattern(
        "kernel.pcie",
        rf"{_BUS_MAYBE}(?P<event>Surprise Down|Unable to change power state from \S+ to \S+, device inaccessible|"
        r"[Rr]efused to change power state.{0,30}|broken device, retraining non-functional downstream link|"
        r"(?:Data Link Layer|PCIe) link lost)",
        level="error",
        scan=r"Surprise Down|Unable to change power state from |efused to change power state|broken device, retraining|"
        r"(?:Data Link Layer|PCIe) link lost",
        note="A PCIe device cannot be reached.",
    ),
    RecordPattern(
        "kernel.pcie_info",
        r"Gb/s available PCIe bandwidth(?P<event>, limited by .{0,80})?",
        level="info",
        scan=r"available PCIe bandwidth",
        note="How fast the PCIe link of a device is.",
    ),
    RecordPattern(
        "kernel.pcie",
        rf"pci {_BUS}: (?P<event>BAR \d+: (?:failed to assign|can't assign|no space for) .{{1,100}})",
        level="warning",
        scan=r"BAR \d+: (?:failed to assign|no space for) \[mem",
        note="The firmware gave a PCIe device no room in the address space.",
    ),
    RecordPattern(
        "kernel.iommu",
        r"(?P<message>DMAR: \[[^\]]{0,20}\] Request device.{0,120}|AMD-Vi: Event logged \[IO_PAGE_FAULT.{0,120}|"
        r"DMAR: DRHD: handling fault status.{0,40}|AMD-Vi: Completion-Wait loop timed out.{0,40})",
        level="error",
        scan=r"DMAR: \[[^\]]{0,20}\] Request device|AMD-Vi: Event logged \[IO_PAGE_FAULT|"
        r"DMAR: DRHD: handling fault status|AMD-Vi: Completion-Wait loop timed out",
        note="A device tried to access memory that the IOMMU does not let it access.",
    ),
)

NETWORK = (
    RecordPattern(
        "kernel.link",
        rf"mlx5_core {_BUS} {_IFACE}: Link (?P<state>down)$",
        level="warning",
        scan=r"mlx5_core .{0,60}: Link down",
        note="The network link of this interface went down.",
    ),
    RecordPattern(
        "kernel.link",
        rf"mlx5_core {_BUS} {_IFACE}: Link (?P<state>up)$",
        level="info",
        scan=r"mlx5_core .{0,60}: Link up",
        note="The network link of this interface came up.",
    ),
    RecordPattern(
        "kernel.link",
        rf"\b{_IFACE}: (?:NIC |mlx4_en: )?[Ll]ink (?:is )?(?P<state>[Dd]own|DOWN)\b",
        level="warning",
        scan=r": (?:NIC )?[Ll]ink (?:is )?[Dd](?:own|OWN)",
        priority=-1,
        note="The network link of this interface went down.",
    ),
    RecordPattern(
        "kernel.link",
        rf"\b{_IFACE}: (?:NIC )?[Ll]ink is (?P<state>[Uu]p|UP)\b",
        level="info",
        scan=r": (?:NIC )?[Ll]ink is [Uu][Pp]",
        priority=-1,
        note="The network link of this interface came up.",
    ),
    RecordPattern(
        "kernel.link",
        rf"link status definitely (?P<state>down) for interface {_IFACE}",
        level="warning",
        note="A link of a bonded interface went down.",
    ),
    RecordPattern(
        "kernel.link",
        rf"IPv6: ADDRCONF\(NETDEV_CHANGE\): {_IFACE}: link becomes ready",
        level="info",
        note="The network link of this interface came up.",
    ),
    RecordPattern(
        "kernel.port_module",
        rf"mlx5_core {_BUS}: Port module event\[error\]: module \d+, (?P<event>.{{1,80}})",
        level="error",
        scan=r"Port module event\[error\]: ",
        note="A cable or transceiver of a network card reports an error.",
    ),
    RecordPattern(
        "kernel.port_module",
        rf"mlx5_core {_BUS}: Port module event: module \d+, (?P<event>Cable unplugged)",
        level="warning",
        scan=r"Port module event: module \d+, Cable unplugged",
        note="A cable of a network card was pulled or lost contact.",
    ),
    RecordPattern(
        "kernel.port_module",
        rf"mlx5_core {_BUS}: .{{0,60}}?Port module event: module \d+, (?P<event>Cable plugged)",
        level="info",
        scan=r"Port module event: module \d+, Cable plugged",
        note="A cable of a network card was plugged in.",
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"mlx5_core {_BUS}:? .{{0,60}}?(?P<message>Detected insufficient power on the PCIe slot.{{0,20}})",
        level="info",
        scan=r"Detected insufficient power on the PCIe slot",
        priority=1,
        note="A network card says that its slot names no sufficient power; common and mostly harmless.",
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"mlx5_core {_BUS}:? .{{0,80}}?(?P<message>(?:Fatal error \d+ detected|assert_var\[|"
        r"device's health compromised|[Ff]irmware internal error|health poll failed|timeout\. Will cause a leak|"
        r"TX timeout|mlx5_error_sw_reset|High temperature|PCI slot is unavailable|handling bad device).{0,120})",
        level="error",
        scan=r"mlx5_core .{0,160}(?:Fatal error \d+ detected|assert_var\[|health compromised|"
        "[Ff]irmware internal error|"
        r"health poll failed|Will cause a leak|TX timeout|mlx5_error_sw_reset|High temperature|PCI slot is unavailable|"
        r"handling bad device)",
        note="A network card's firmware stopped working or does not answer.",
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"NETDEV WATCHDOG: .{{0,40}}?{_IFACE}.{{0,40}}?(?P<message>transmit queue \d+ timed out.{{0,20}})",
        level="error",
        scan=r"NETDEV WATCHDOG: ",
        note="A network card did not send what it was given.",
    ),
    RecordPattern(
        "kernel.net",
        r"(?P<message>nf_conntrack: .{0,30}table full|neighbou?r: \S+ neighbor table overflow|"
        r"neighbour table overflow|TCP: out of memory|TCP: too many orphaned sockets)",
        level="error",
        scan="nf_conntrack: .{0,30}table full|neighbou?r table overflow|TCP: out of memory|"
        "TCP: too many orphaned sockets",
        note="A table of the host's network stack is full and packets are dropped.",
    ),
    RecordPattern(
        "kernel.net",
        r"(?P<message>Possible SYN flooding on port \S+)",
        level="warning",
        scan=r"ossible SYN flooding on port ",
        note="More connections arrived at once than the listener's queue holds.",
    ),
)

STORAGE = (
    RecordPattern(
        "kernel.nfs",
        r"nfs: server (?P<server>\S+) (?P<state>not responding, (?:still trying|timed out))",
        level="error",
        note="The NFS server did not answer in time.",
    ),
    RecordPattern(
        "kernel.nfs", r"nfs: server (?P<server>\S+) (?P<state>OK)\b", level="info", note="The NFS server answers again."
    ),
    RecordPattern(
        "kernel.nfs",
        r"(?:NFS|RPC|nfs4\w*): .{0,80}?(?P<state>state manager failed|[Ss]tale file handle|"
        r"v4 server \S+ returned a bad sequence)",
        level="error",
        scan=r"state manager failed|(?:NFS|RPC|nfs4).{0,80}(?:[Ss]tale file handle|returned a bad sequence)",
        note="The NFS client lost what it shared with the server.",
    ),
    RecordPattern(
        "kernel.lustre",
        r"(?P<message>This client was evicted by \S+)",
        level="error",
        note="The Lustre server threw this client out; open files are lost.",
    ),
    RecordPattern(
        "kernel.lustre",
        r"(?P<message>LustreError: (?:\d+:0:.{0,80}? |11-0: ).{0,120}?operation \w{3,40} to node \S{1,80} failed: "
        r"rc = -\d+)",
        level="warning",
        scan=r"LustreError: .{0,200}operation \w+ to node ",
        priority=1,
        note="A request to a Lustre server went unanswered: the client connects anew, as it does after each pause.",
    ),
    RecordPattern(
        "kernel.lustre",
        r"(?P<message>LustreError: .{0,240})",
        level="error",
        scan=r"LustreError: ",
        note="The Lustre client reports an error.",
    ),
    RecordPattern(
        "kernel.lustre",
        r"(?P<message>Lustre: .{0,160}?Connection to \S+ (?:\(at \S+\) )?was lost)",
        level="warning",
        scan=r"Lustre: .{0,160}Connection to .{0,120}was lost",
        note="The connection to a Lustre server was lost.",
    ),
    RecordPattern(
        "kernel.lustre",
        r"(?P<message>Lustre: .{0,160}?Connection restored to \S+)",
        level="info",
        scan=r"Lustre: .{0,160}Connection restored to",
        note="The connection to a Lustre server is back.",
    ),
    RecordPattern(
        "kernel.fs",
        "(?P<filesystem>EXT[234]-fs|BTRFS|F2FS-fs) (?:error|critical|warning|abort|"
        r"panic)\W+device (?P<device>[\w-]+)\)?:? ?"
        r"(?P<message>.{0,200})",
        level="error",
        scan=r"(?:EXT[234]-fs|BTRFS|F2FS-fs) (?:error|critical|abort|panic)",
        note="A local file system found an error.",
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<filesystem>XFS) \((?P<device>[\w-]+)\): (?P<message>.{0,60}?(?:[Cc]orruption|I/O [Ee]rror|"
        "Internal error|shut(?:ting)? down|log mount (?:failed|/recovery failed)|"
        r"log I/O|force_shutdown|(?:\bxfs_\w{2,40}|[Mm]etadata)[: ].{0,60}?\berror -?\d).{0,160})",
        level="error",
        scan=r"XFS \([\w-]+\): .{0,120}(?:[Cc]orruption|I/O [Ee]rror|Internal error|shut(?:ting)? down|force_shutdown|"
        r"log mount|error -?\d)",
        note="A local file system found an error.",
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<message>[Rr]emounting filesystem read-only|Aborting journal on device \S+|JBD2: .{0,60}error.{0,60})",
        level="error",
        scan=r"emounting filesystem read-only|Aborting journal on device|JBD2: .{0,60}error",
        note="A file system was set to read-only after an error.",
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<filesystem>libceph|ceph|beegfs|mmfs|GPFS): (?P<message>.{0,60}?(?:\[E\]|socket (?:closed|error)|"
        r"\bdown\b|hung|timed out|"
        r"[Ee]rror|evict).{0,160})",
        level="warning",
        scan=r"(?:libceph|ceph|beegfs|mmfs|GPFS): .{0,60}(?:\[E\]|socket (?:closed|error)|down|hung|timed out|"
        "[Ee]rror|evict)",
        note="A cluster file system reports trouble.",
    ),
    RecordPattern(
        "kernel.disk",
        "(?:blk_update_request|print_req_error|[Bb]uffer)?:? ?(?P<message>(?:critical (?:medium|target|"
        "space allocation) error|"
        r"I/O error),? (?:on )?dev(?:ice)? (?P<device>[\w/-]+).{0,120})",
        level="error",
        scan=r"(?:(?:medium|target|allocation) error|I/O error),? (?:on )?dev(?:ice)? ",
        note="A disk could not read or write a block.",
    ),
    RecordPattern(
        "kernel.disk",
        r"nvme (?P<device>nvme\d+): (?P<message>(?:I/O (?:tag )?\d+.{0,40}?timeout|controller is down|Device not ready|"
        r"Removing after probe failure|Abort status|frozen state error).{0,120})",
        level="error",
        scan=r"nvme nvme\d+: (?:I/O .{0,60}timeout|controller is down|Device not ready|Removing after probe|"
        "frozen state error)",
        note="An NVMe disk stopped answering.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (*PCIE, *NETWORK, *STORAGE)

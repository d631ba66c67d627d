"""More of what kernels and file system clients say when storage fails; the commonest lines stand in ``kernel_io``.

Kinds and their fields:

- ``kernel.nfs`` server, state; ``kernel.lustre`` message; ``kernel.lnet`` message: Lustre's network
- ``kernel.fs`` filesystem, device, message: a file system or its cluster client found an error
- ``kernel.disk`` device, message: a disk, its controller or a RAID failed
- ``kernel.harmless`` what clients print while they idle, reconnect or tidy up

Shapes: fs/nfs, net/sunrpc, Lustre 2.12 to 2.15, fs/ceph and net/ceph, fs/jbd2, fs/ext4, block and SCSI layers of Linux
4.18 to 6.8; Spectrum Scale 5 (mmfs.log); BeeGFS 7.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_BLOCK = "A disk could not read or write a block."

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "kernel.nfs",
        r"NFS: (?P<state>nfs4_discover_server_trunking unhandled error -\d+\. Exiting with error \w+|"
        r"state manager: (?:check lease|lease expired|reclaim \w+|recover \w+).{0,60}?failed on NFSv4 server "
        r"(?P<server>\S+)"
        r".{0,40})",
        level="error",
        scan=r"nfs4_discover_server_trunking unhandled error|NFS: state manager: .{0,80}failed on NFSv4 server",
        note="The NFS client lost what it shared with the server.",
    ),
    RecordPattern(
        "kernel.lnet",
        r"(?P<message>LNetError: .{1,240})",
        level="error",
        note="Lustre's network layer could not reach a server.",
    ),
    RecordPattern(
        "kernel.lnet",
        r"(?P<message>LNet: .{0,120}?(?:Timed out (?:tx|RDMA)|No route to|Connection refused).{0,120})",
        level="error",
        scan=r"LNet: \d",
        note="Lustre's network layer could not reach a server.",
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<filesystem>ceph): (?P<message>mds\d+ (?:hung|reconnect denied|rejected session).{0,60}|"
        r".{0,40}(?:evicted|blocklisted|blacklisted).{0,60})",
        level="error",
        scan=r"ceph: mds\d+ (?:hung|reconnect denied|rejected session)|ceph: .{0,40}(?:evicted|blocklisted|"
        r"blacklisted)",
        note="The Ceph file system no longer serves this client.",
        priority=1,
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<filesystem>mmfsd?|GPFS): (?:\[[EX]\]) (?P<message>.{1,200})",
        level="error",
        scan=r"(?:mmfsd?|GPFS): \[[EX]\] ",
        note="The GPFS (Spectrum Scale) client reports an error.",
        priority=1,
    ),
    RecordPattern(
        "kernel.fs",
        r"^(?:\d{4}-\d\d-\d\d_[\d:.]+[+-]\d{4}: )?\[[EXN]\] (?P<message>Lost membership in cluster \S+ Unmounting "
        r"file systems.*|File System \S+ unmounted by the system with return code .*|(?:This node|Node \S+ .{0,80}) "
        r"(?:is being|was|has been) expelled.*|The mmfsd? daemon is shutting down abnormally.*)",
        level="error",
        scan=r"Lost membership in cluster |unmounted by the system with return code |"
        r"(?:is being|was|has been) expelled|daemon is shutting down abnormally",
        note="The GPFS (Spectrum Scale) daemon of a node lost the cluster or gave a file system up (mmfs.log).",
        priority=1,
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<filesystem>mmfsd?|GPFS): (?:\[[NW]\]) (?P<message>.{0,120}(?:lease renewal is overdue|is expelling|"
        r"expelled|"
        r"lost contact|unmounted|panic).{0,120})",
        level="error",
        scan=r"(?:mmfsd?|GPFS): \[[NW]\] .{0,120}(?:lease renewal is overdue|expell(?:ing|ed)|lost contact)",
        note="The GPFS (Spectrum Scale) cluster lost contact with a node.",
        priority=1,
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<filesystem>EXT[234]-fs) warning \(device (?P<device>[\w-]+)\): (?P<message>\w{3,40}:\d+: I/O error "
        r".{1,120})",
        level="error",
        scan=r"EXT[234]-fs warning \(device .{0,60}I/O error ",
        note="A local file system found an error.",
        priority=1,
    ),
    RecordPattern(
        "kernel.fs",
        r"(?P<message>JBD2: (?:Error -\d+ detected when updating|Detected IO errors while flushing|I/O error).{0,80})",
        level="error",
        scan=r"JBD2: (?:Error -\d+ detected|Detected IO errors|I/O error)",
        note="A local file system found an error.",
        priority=1,
    ),
    RecordPattern(
        "kernel.disk",
        r"sd \d+:\d+:\d+:\d+: \[(?P<device>\w+)\] (?P<message>tag#\d+ FAILED Result: .{1,120}|"
        r"Sense Key : (?:Medium|Hardware|Aborted|Not Ready).{0,60}|Synchronize Cache.{0,20} failed.{0,60}|"
        r"(?:rejecting I/O to offline device|Unaligned partial completion).{0,40})",
        level="error",
        scan=r"\] tag#\d+ FAILED Result: |Sense Key : (?:Medium|Hardware|Aborted|Not Ready)|rejecting I/O to "
        r"offline device",
        note=_BLOCK,
    ),
    RecordPattern(
        "kernel.disk",
        r"(?P<device>ata\d+(?:\.\d+)?): (?P<message>exception Emask .{1,100}|failed command: .{1,60}|"
        r"hard resetting link|COMRESET failed.{0,40}|limiting SATA link speed.{0,40})",
        level="error",
        scan=r"ata\d+(?:\.\d+)?: (?:exception Emask |failed command: |COMRESET failed)",
        note="A SATA disk or its cable failed.",
    ),
    RecordPattern(
        "kernel.disk",
        r"md/raid\d+:(?P<device>md\d+): (?P<message>Disk failure on .{1,100})",
        level="error",
        scan=r"md/raid\d+:md\d+: Disk failure on ",
        note="A disk of a RAID failed.",
    ),
    RecordPattern(
        "kernel.disk",
        r"(?P<device>nvme\d+n\d+): (?P<message>detected capacity change from \d+ to 0\b.{0,20})",
        level="error",
        scan=r"detected capacity change from \d+ to 0",
        note="An NVMe disk disappeared.",
    ),
    RecordPattern(
        "kernel.harmless",
        r"libceph: (?:osd|mon|mds)\d+ .{0,80}(?:socket closed \(con state|socket error on)|RPC: fragment too large|"
        r"ceph: mds\d+ caps (?:stale|renewed)|ptlrpc_expire_one_request\(\)\) @@@ Request sent has timed out for "
        r"slow reply|"
        r"overlayfs: upper fs does not support",
        level="info",
        scan=r"libceph: .{0,90}socket (?:closed \(con state|error on)|RPC: fragment too large|ceph: mds\d+ caps |"
        r"Request sent has timed out for slow reply|overlayfs: upper fs does not support",
        note="A storage client connects again or tidies up; it goes on.",
        priority=2,
    ),
)

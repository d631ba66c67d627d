"""Linux kernel messages about failing network cards and RDMA devices.

Kinds and their fields (``bus_id`` is domain:bus:slot, without the function digit), besides those of ``kernel_io``:

- ``kernel.nic_health`` bus_id, message: the firmware, a command or a transmit queue of a card does not answer
- ``kernel.nic_command`` bus_id, message: a card's firmware refused a command
- ``kernel.rdma`` device, message: an RDMA driver could not do what it was asked for
- ``kernel.nic_module`` module, message: a module of an RDMA driver could not be loaded
- ``kernel.link`` interface, state: links of cards that kernel_io does not know

Shapes: drivers/net/ethernet/{mellanox,broadcom,intel,amazon}, drivers/infiniband/{core,hw,ulp} (Linux 5.4 to 6.8),
HPE Slingshot's cxi driver.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_HEX = "[0-9a-fA-F]"
_BUS = rf"(?P<bus_id>{_HEX}{{4}}:{_HEX}{{2}}:{_HEX}{{2}})\.\d"
_FIRMWARE = "A network card's firmware stopped working or does not answer."

_MODULES = r"(?:mlx[45]_|ib_|rdma_|iw_)\w{2,24}|irdma|efa|bnxt_re|hfi1"

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "kernel.nic_module",
        rf"\b(?P<module>{_MODULES}): (?P<message>disagrees about version of symbol.{{0,80}}|version magic '.{{0,160}}|"
        r"Unknown symbol .{0,80})|(?:modprobe|insmod): (?:ERROR|FATAL): "
        rf"(?P<message>(?:could not insert|Module) (?:module )?'?(?P<module>{_MODULES})\b.{{0,120}})",
        level="error",
        scan=rf"(?:{_MODULES}): (?:disagrees about version of symbol|version magic '|Unknown symbol )|"
        rf"(?:could not insert|Module) (?:module )?'?(?:{_MODULES})",
        note="A kernel module of an RDMA driver could not be loaded.",
        priority=1,
    ),
    RecordPattern(
        "kernel.nic_command",
        rf"mlx[45]_core {_BUS}: (?P<message>mlx5_cmd_\w+:\d+:\(pid \d+\): .{{0,200}}|"
        r"mlx5_cmd_fw_err.{0,80}|\w+:\d+:\(pid \d+\): mlx5_init_one failed.{0,80}|wait_fw_init.{0,120})",
        level="error",
        scan=r"mlx5_cmd_(?:check|out_err|fw_err|status|comp|err)|mlx5_init_one failed|wait_fw_init",
        note="A network card's firmware refused a command of the driver.",
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"mlx[45]_core {_BUS}.{{0,80}}?(?P<message>Internal error detected.{{0,60}}|timed out \(go bit not cleared\)|"
        r"ERR CQE on SQ.{0,60}|mlx5_pci_err_detected.{0,120}|temp_warn.{0,120}|firmware version mismatch.{0,80})",
        level="error",
        scan=r"Internal error detected:|\(go bit not cleared\)|ERR CQE on SQ|mlx5_pci_err_detected|temp_warn",
        note=_FIRMWARE,
        priority=1,
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"bnxt_(?:en|re) {_BUS}.{{0,60}}?(?P<message>Error \(timeout: \d+\) msg.{{0,80}}|"
        r"Firmware heartbeat timed out.{0,60}|Firmware (?:unresponsive|non-fatal reset|fatal).{0,80}|"
        r"TX timeout detected.{0,60}|Failed to modify HW QP.{0,60}|bnxt_re is dead.{0,80}|"
        r"Device is in reset state.{0,60})",
        level="error",
        scan=r"bnxt_(?:en|re) .{0,90}(?:Error \(timeout|Firmware |TX timeout|Failed to modify HW QP|bnxt_re is dead)",
        note=_FIRMWARE,
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"(?P<driver>ice|i40e|ixgbe|igb|irdma|ena|efa) {_BUS}.{{0,40}}?(?P<message>Unhandled MDD event.{{0,60}}|"
        r"CQP completion error.{0,60}|TX driver issue detected.{0,60}|initiating reset due to tx timeout.{0,40}|"
        r"TX hasn't completed.{0,120}|Failed to (?:process|submit) command \w+.{0,80}|Wait for completion \(polling\) "
        r"timeout.{0,60}|"
        r"Keep alive watchdog timeout.{0,60}|Trigger reset.{0,60}|Hardware Error.{0,60})",
        level="error",
        scan=r"Unhandled MDD event|CQP completion error|TX driver issue detected|initiating reset due to tx timeout|"
        r"TX hasn't completed, qid|Failed to (?:process|submit) command [A-Z_]+ \(opcode|"
        r"Wait for completion \(polling\) timeout|Keep alive watchdog timeout",
        note=_FIRMWARE,
    ),
    RecordPattern(
        "kernel.link",
        r"(?P<interface>hfi1_\d+|opap\d+s\d+): .{0,40}?(?:Port \d+ )?[Ll]ink (?:is )?(?P<state>down)\b.{0,120}",
        level="warning",
        scan=r"hfi1_\d+: .{0,40}[Ll]ink (?:is )?down",
        note="The network link of this interface went down.",
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"hfi1 {_BUS}: (?P<interface>hfi1_\d+): (?P<message>SDMA engine \d+ timed out.{{0,60}}|8051 access "
        rf"failed.{{0,60}}|"
        r"(?:LNI|LCB|SPC) .{0,40}(?:fail|error).{0,60}|.{0,40}Error interrupt.{0,80})",
        level="error",
        scan=r"hfi1 .{0,60}(?:SDMA engine \d+ timed out|8051 access failed|Error interrupt)",
        note=_FIRMWARE,
    ),
    RecordPattern(
        "kernel.nic_health",
        rf"cxi_\w{{2,8}} {_BUS}: (?P<message>EE .{{0,120}}|.{{0,80}}(?:retry exhausted|link down|fatal).{{0,80}})",
        level="error",
        scan=r"cxi_(?:core|ss1|user|eth|rh) ",
        note=_FIRMWARE,
    ),
    RecordPattern(
        "kernel.rdma",
        r"(?:infiniband )?(?P<device>(?:mlx[45]|bnxt_re|efa|irdma|hfi1|rxe|hns)_?\d+): (?P<message>dump_cqe:.{0,80}|"
        r"\w+:\d+:\(pid \d+\): .{0,160}?(?:[Ff]ail|[Ee]rror).{0,80}|ib_query_port failed.{0,40}|"
        r"(?:QP|CQ|SRQ) \w+ (?:catastrophic|fatal).{0,80})",
        level="error",
        scan=r"dump_cqe:|infiniband mlx5_|infiniband mlx4_|mlx5_\d+: create_qp:|ib_query_port failed",
        note="An RDMA driver could not do what it was asked for.",
    ),
    RecordPattern(
        "kernel.rdma",
        r"infiniband (?P<device>\w+): (?P<message>(?:mlx5_poll_one|poll_one|handle_\w+):\d+:\(pid \d+\): "
        r"(?:syndrome 0x[0-9a-f]+, vendor syndrome .{1,20}|Re(?:questor|sponder) error cqe on cqn .{1,20})|"
        r"dump_cqe:.{1,120})",
        level="error",
        scan=r"error cqe on cqn|, vendor syndrome 0x|dump_cqe:",
        note="A transfer of the kernel itself (storage, IP over InfiniBand) ended with an error.",
    ),
    # what ibdev_err prints, whatever the driver
    RecordPattern(
        "kernel.rdma",
        r"\binfiniband (?P<device>(?!mlx)\w{2,20}): "
        r"(?P<message>(?:Failed to|Couldn't|Cannot|Can't|Unable to|Error) .{3,160})",
        level="error",
        scan=r"infiniband \w{2,20}: (?:Failed to|Couldn't|Cannot|Can't|Unable to|Error) ",
        note="An RDMA driver could not do what it was asked for.",
    ),
    RecordPattern(
        "kernel.rdma",
        rf"mlx5_core {_BUS}: (?P<message>\w+:\d+:\(pid \d+\): CQ error on CQN 0x[0-9a-f]+, syndrome? 0x[0-9a-f]+)",
        level="error",
        scan="CQ error on CQN 0x",
        note="A completion queue overran or could not be written: no more completions come from it.",
    ),
    RecordPattern(
        "kernel.rdma",
        r"(?P<message>RDMA CMA: cma_\w+, error .{1,40}|ib_srp: .{0,40}failed.{0,80}|"
        r"(?P<device>ib\w{1,12}): (?:transmit timeout: latency .{1,60}|multicast join failed for .{1,120}|"
        r"failed (?:to|send|cm|multicast).{1,100}|post_send failed.{0,60}|"
        r"ib_query_\w+ failed.{0,40}))",
        level="error",
        scan=r"RDMA CMA: cma_|ib_srp: failed send|transmit timeout: latency|multicast join failed for|"
        r": post_send failed",
        note="An RDMA driver could not do what it was asked for.",
    ),
)

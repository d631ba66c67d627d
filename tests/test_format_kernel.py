from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs.multiline.kernel_gpu import read_device
from logdoctor.logs.record_pattern import Message

OS, GPU, IO = records("kernel"), records("kernel_gpu"), records("kernel_io")
ALL = (*OS, *GPU, *IO)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "NVRM: Xid (PCI:0000:4e:00): 79, pid=0, GPU has fallen off the bus.",
            {"xid": 79, "bus_id": "0000:4e:00"},
        ),
        (
            "[  881.204] NVRM: Xid (PCI:0000:4e:00): 31, pid=71234, name=pt_main_thread, Ch 00000008, intr 00000000. MMU Fault",
            {"xid": 31, "bus_id": "0000:4e:00", "pid": 71234, "name": "pt_main_thread"},
        ),
        (
            "NVRM: Xid (PCI:0000:9d:00 GPU-I:03 GPU-CI:00): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No",
            {"xid": 94, "bus_id": "0000:9d:00", "gpu_instance": 3, "compute_instance": 0},
        ),
        ("NVRM: Xid (0000:03:00): 14, Channel 00000004", {"xid": 14, "bus_id": "0000:03:00"}),
        (
            "NVRM: Xid (PCI:0000:1b:00): 43, pid=88, name=python3, Ch 00000010, caused by previous Xid 13",
            {"xid": 43, "bus_id": "0000:1b:00", "pid": 88, "name": "python3", "previous_xid": 13},
        ),
        ("NVRM: Xid (PCI:0000:1b:00): 62, pid=88", {"xid": 62, "bus_id": "0000:1b:00", "pid": 88}),
    ],
)
def test_every_era_of_xid_lines_gives_code_and_bus_address(line, fields):
    record = read_record(GPU, line)
    assert (record.kind, record.level, record.fields) == ("kernel.xid", "error", fields)


@pytest.mark.parametrize("place", ["PCI:...", "PCI:xxxx:xx:00", "<redacted>"])
def test_xid_without_its_address_is_recognised(place):
    record = read_record(GPU, f"NVRM: Xid ({place}): 79, pid=88, name=python3, GPU has fallen off the bus.")
    assert (record.kind, record.level, record.fields) == (
        "kernel.xid",
        "error",
        {"xid": 79, "pid": 88, "name": "python3"},
    )


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("11:52:30  Xid 31 PCI:0000:4f:00 pid=6021 ... UNRECOGNIZED_CLIENT", {"xid": 31, "bus_id": "0000:4f:00"}),
        ("06-10 11:52:30 Xid 31 GPC2 GPCCLIENT_T1_4 @ 0x7e00_12340000 FAULT_PTE ACCESS_TYPE_VIRT_READ", {"xid": 31}),
    ],
)
def test_shortened_xid_line_is_recognised_by_the_drivers_own_words(line, fields):
    record = read_record(GPU, line)
    assert (record.kind, record.level, record.fields) == ("kernel.xid", "error", fields)


def test_talk_about_an_xid_gives_no_record():
    assert kinds(GPU, "we saw Xid 31 on two of the hosts last week") == []


@pytest.mark.parametrize(
    "line",
    [
        "amdgpu 0000:c3:00.0: amdgpu: GPU reset(4) succeeded!",
        "drmn1: GPU reset begin!",
        "[drm ERROR :amdgpu_job_timedout] ring comp_1.0.0 timeout, signaled seq=812, emitted seq=814",
        "[drm:sdma_v4_0_ring_test_ring [amdgpu]] *ERROR* amdgpu: ring 9 test failed (0xDEADBEEF)",
        "[drm:amdgpu_device_recover_vram [amdgpu]] *ERROR* VRAM is lost!",
    ],
)
def test_each_line_about_the_reset_of_an_amd_gpu_is_a_record(line):
    record = read_record(GPU, line)
    assert (record.kind, record.level) == ("kernel.amdgpu", "error")


def test_a_ring_that_recovered_softly_is_no_fault_of_the_gpu():
    line = "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, but soft recovered"
    assert kinds(GPU, line) == []


def test_metadata_that_xfs_cannot_read_is_an_error_of_the_file_system():
    line = "XFS (dm-3): metadata I/O error in xfs_imap_to_bp at daddr 0x40 len 32 error 5"
    assert [read_record(IO, line).kind, read_record(IO, "XFS (dm-3): xfs_do_force: error -5 returned.").kind] == [
        "kernel.fs"
    ] * 2


def test_the_text_of_an_xid_is_the_sentence_of_the_driver():
    assert (
        read_record(GPU, "NVRM: Xid (PCI:0000:4e:00): 79, pid=0, GPU has fallen off the bus.").text
        == "GPU has fallen off the bus."
    )


@pytest.mark.parametrize("code", [45, 63, 92, 154])
def test_informative_xid_is_a_warning(code):
    assert read_record(GPU, f"NVRM: Xid (PCI:0000:4e:00): {code}, pid=7, name=python, Ch 00000001").level == "warning"


def test_an_nvlink_fault_of_a_gpu_names_its_link():
    line = "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 07 (0x004505c6 0x00000000)"
    assert read_record(records("kernel_gpu"), line).fields["link"] == 7


def test_an_nvswitch_fault_names_its_link_and_whether_it_is_fatal():
    fatal = read_record(GPU, "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 31 LTSSM Fault Up")
    mild = read_record(GPU, "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 22013, Non-fatal, Link 60 RX Short Error Rate")
    data = read_record(GPU, "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Data {0x00000031, 0x0000001f}")
    assert (fatal.kind, fatal.level, fatal.fields["link"], fatal.fields["severity"]) == (
        "kernel.sxid",
        "error",
        31,
        "Fatal",
    )
    assert (mild.level, mild.fields["sxid"]) == ("warning", 22013)
    assert (data.kind, data.level) == ("kernel.sxid_data", "info")


def test_a_driver_message_of_three_lines_is_one_lost_gpu():
    text = (
        "[ 41.1] NVRM: The NVIDIA GPU 0000:e1:00.0\n"
        "               NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands."
    )
    record = read_record(GPU, text)
    assert (record.kind, record.fields["bus_id"]) == ("kernel.nvrm_lost", "0000:e1:00")
    assert "fallen off the bus" in record.text


def test_line_about_the_lost_gpu_is_quoted():
    below = [
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding.",
    ]
    rows = iter([Message(text, below=n) for n, text in enumerate(below, 1)])
    multiline = read_device(Message("NVRM: The NVIDIA GPU 0000:e1:00.0"), {}, rows)
    assert multiline is not None
    assert multiline.evidence == 2


def test_a_gpu_that_the_driver_does_not_support_is_not_lost():
    text = (
        "NVRM: The NVIDIA GPU 0000:e1:00.0 (PCI ID: 10de:1234)\n"
        "NVRM: installed in this system is not supported by the\n"
        "NVRM: NVIDIA 550.54 driver release."
    )
    assert kinds(GPU, text)[0] == "kernel.nvrm_init"


def test_driver_version_mismatch_gives_both_versions():
    text = (
        "NVRM: API mismatch: the client has the version 550.90.07, but\n"
        "NVRM: this kernel module has the version 535.161.08.  Please\n"
        "NVRM: make sure that this kernel module and all NVIDIA driver\n"
        "NVRM: components have the same version."
    )
    record = read_record(GPU, text)
    assert record.fields["client_version"] == "550.90.07"
    assert "535.161.08" in record.text


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("NVRM: GPU 0000:18:00.0: RmInitAdapter failed! (0x22:0x56:884)", "kernel.nvrm_init"),
        ("NVRM: _kgspLogXid119: ***** GSP Timeout *****", "kernel.nvrm_gsp"),
        ("NVRM: knvlinkDiscoverPostRxDetLinks_GH100: nvlink training failed on link 4", "kernel.nvrm_nvlink"),
        ("NVRM: nvAssertOkFailedNoLog: Assertion failed: Call timed out [NV_ERR_TIMEOUT]", "kernel.nvrm"),
        ("NVRM: GPU at PCI:0000:18:00: GPU-11111111-2222-3333-4444-555555555555", "kernel.nvrm_info"),
        ("NVRM: GPU Board Serial Number: 1320000000001", "kernel.nvrm_info"),
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024", "kernel.nvrm_info"),
        ("Unable to determine the device handle for GPU 0000:B3:00.0: GPU is lost.  Reboot the system", "gpu.lost"),
        ("nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context", "kernel.peermem"),
    ],
)
def test_lines_of_the_gpu_driver_and_its_tools(line, kind):
    assert read_record(GPU, line).kind == kind


def test_the_oom_killer_in_a_cgroup_names_process_cgroup_and_constraint():
    text = (
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
        "memory: usage 67108864kB, limit 67108864kB, failcnt 9120\n"
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg=/slurm/uid_9/job_77,"
        "task_memcg=/slurm/uid_9/job_77/step_0/task_3,task=pt_data_worker,pid=51702,uid=9\n"
        "Memory cgroup out of memory: Killed process 51702 (pt_data_worker) total-vm:81231232kB, anon-rss:60129004kB, "
        "file-rss:1024kB, shmem-rss:0kB, UID:9 pgtables:118000kB oom_score_adj:0\n"
        "oom_reaper: reaped process 51702 (pt_data_worker), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB"
    )
    invoked, usage, chosen, killed, reaped = read(OS, text)
    assert invoked.fields == {"process": "python3"}
    assert usage.fields["limit_kb"] == 67108864
    assert (chosen.fields["pid"], chosen.fields["constraint"]) == (51702, "CONSTRAINT_MEMCG")
    assert chosen.fields["cgroup"].endswith("/task_3")
    assert (killed.kind, killed.level, killed.fields["anon_rss_kb"]) == ("kernel.oom_kill", "fatal", 60129004)
    assert reaped.level == "error"


def test_oom_killer_of_old_kernels_is_recognised():
    record = read_record(OS, "Out of memory: Kill process 4312 (python) score 912 or sacrifice child")
    assert (record.kind, record.fields["pid"], record.fields["process"]) == ("kernel.oom_kill", 4312, "python")


def test_a_segfault_names_process_and_library():
    record = read_record(
        OS,
        "[9.1] pt_autograd_0[8812]: segfault at 20 ip 00007f1200aa sp 00007f33 error 4 in libnccl.so.2.21.5[7f12+200]",
    )
    assert record.fields == {"process": "pt_autograd_0", "pid": 8812, "library": "libnccl.so.2.21.5"}


def test_a_general_protection_fault_names_its_trap():
    record = read_record(
        OS, "traps: python3[771] general protection fault ip:7f00 sp:7ffd error:0 in libcuda.so.1[7f00+100]"
    )
    assert (record.kind, record.fields["trap"], record.fields["pid"]) == (
        "kernel.trap",
        "general protection fault",
        771,
    )


def test_a_hung_task_keeps_the_functions_it_waits_in():
    text = (
        "INFO: task python:5121 blocked for more than 122 seconds.\n"
        "      Tainted: P           OE     5.15.0-91-generic #101\n"
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.\n'
        "task:python          state:D stack:    0 pid: 5121 ppid:  4000 flags:0x00000000\n"
        "Call Trace:\n"
        " <TASK>\n"
        " __schedule+0x24e/0x590\n"
        " rpc_wait_bit_killable+0x24/0xb0 [sunrpc]\n"
        " nfs_wait_on_request+0x2d/0x40 [nfs]\n"
        "eth0: something else"
    )
    record = read(OS, text)[0]
    assert (record.kind, record.fields["pid"], record.fields["seconds"]) == ("kernel.hung_task", 5121, 122)
    assert record.fields["frames"] == ("__schedule", "rpc_wait_bit_killable", "nfs_wait_on_request")


@pytest.mark.parametrize("state", ["    0  5121   4000 0x00000000", " running task        0  5121   4000 0x00000008"])
def test_before_linux_5_10_the_free_stack_of_a_hung_task_stands_behind_its_state(state):
    text = (
        "INFO: task rsync:5121 blocked for more than 120 seconds.\n"
        "      Tainted: G           OE     5.4.0-42-generic #46\n"
        f"rsync           D{state}\n"
        "Call Trace:\n"
        " __schedule+0x2e3/0x740\n"
        " io_schedule+0x16/0x40\n"
    )
    assert read(OS, text)[0].fields["frames"] == ("__schedule", "io_schedule")


@pytest.mark.parametrize(
    ("line", "kind", "level"),
    [
        ("Kernel panic - not syncing: Fatal machine check", "kernel.panic", "fatal"),
        ("watchdog: BUG: soft lockup - CPU#17 stuck for 26s! [python:992]", "kernel.lockup", "error"),
        ("rcu: INFO: rcu_preempt self-detected stall on CPU", "kernel.lockup", "error"),
        ("BUG: unable to handle page fault for address: ffffb0", "kernel.oops", "error"),
        ("{1}[Hardware Error]: event severity: fatal", "kernel.mce", "error"),
        ("[Hardware Error]: Corrected error, no action required.", "kernel.mce", "warning"),
        ("mce: [Hardware Error]: Machine check events logged", "kernel.mce", "warning"),
        ("EDAC MC1: 1 UE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0", "kernel.edac", "error"),
        ("EDAC skx MC0: 3 CE memory read error on CPU_SrcID#0", "kernel.edac", "warning"),
        ("Memory failure: 0x4f1a2: recovery action for dirty LRU page: Recovered", "kernel.memory_failure", "error"),
        ("cgroup: fork rejected by pids controller in /slurm/uid_5/job_8/step_0", "kernel.pids_limit", "error"),
        ("Linux version 6.8.0-40-generic (buildd@lcy02) (gcc 13.2.0)", "kernel.boot", "info"),
        ("-- Reboot --", "kernel.boot", "info"),
        (
            "CPU12: Package temperature above threshold, cpu clock throttled (total events = 3)",
            "kernel.thermal",
            "warning",
        ),
    ],
)
def test_lines_of_the_kernel_about_the_host(line, kind, level):
    record = read_record(OS, line)
    assert (record.kind, record.level) == (kind, level)


@pytest.mark.parametrize(
    ("line", "kind", "module"),
    [
        ("modprobe: ERROR: could not insert 'nvidia': No such device", "gpu.module", "nvidia"),
        (
            "modprobe: FATAL: Module nvidia-peermem not found in directory /lib/modules/5.15",
            "gpu.module",
            "nvidia-peermem",
        ),
        ("insmod: ERROR: could not insert module nv_peer_mem.ko: Invalid parameters", "gpu.module", "nv_peer_mem"),
        ("failed to load nvidia-peermem module", "gpu.module", "nvidia-peermem"),
        ("modprobe: ERROR: could not insert 'amdgpu': Operation not permitted", "gpu.module", "amdgpu"),
        ("[   12.2] nvidia_uvm: Unknown symbol nvUvmInterfaceX (err -22)", "gpu.module", "nvidia_uvm"),
        ("modprobe: ERROR: could not insert 'mlx5_ib': Invalid argument", "kernel.nic_module", "mlx5_ib"),
        ("[   12.2] ib_uverbs: disagrees about version of symbol ib_create_cq", "kernel.nic_module", "ib_uverbs"),
    ],
)
def test_a_kernel_module_that_does_not_load_is_named(line, kind, module):
    record = read_record((*records("gpu_tools"), *records("kernel_nics")), line)
    assert (record.kind, record.level, record.fields["module"]) == (kind, "error", module)


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "pcieport 0000:40:01.1: AER: Corrected error received: 0000:40:01.1",
            "kernel.aer",
            "warning",
            {"bus_id": "0000:40:01"},
        ),
        (
            "pcieport 0000:40:01.1: AER: Multiple Uncorrected (Fatal) error received: 0000:41:00.0",
            "kernel.aer",
            "error",
            {"severity": "Uncorrected (Fatal)"},
        ),
        (
            "pcieport 0000:40:01.1: AER: Uncorrectable (Non-Fatal) error message received from 0000:41:00.0",
            "kernel.aer",
            "error",
            {"severity": "Uncorrectable (Non-Fatal)"},
        ),
        (
            "nvidia 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer",
            "kernel.aer",
            "error",
            {"bus_id": "0000:41:00"},
        ),
        ("pcieport 0000:40:01.1: DPC: containment event, status:0x1f01 source:0x0000", "kernel.dpc", "error", {}),
        ("pcieport 0000:40:01.1: pciehp: Slot(17): Link Down", "kernel.pcie", "error", {"event": "Link Down"}),
        (
            "mlx5_core 0000:5e:00.1 ens5f1np1: Link down",
            "kernel.link",
            "warning",
            {"interface": "ens5f1np1", "state": "down"},
        ),
        ("ixgbe 0000:01:00.0 eno1: NIC Link is Down", "kernel.link", "warning", {"interface": "eno1"}),
        ("mlx5_core 0000:5e:00.0: poll_health:793:(pid 0): Fatal error 3 detected", "kernel.nic_health", "error", {}),
        (
            "mlx5_core 0000:5e:00.0: mlx5_pcie_event:293:(pid 9): Detected insufficient power on the PCIe slot (27W).",
            "kernel.nic_health",
            "info",
            {},
        ),
        (
            "mlx5_core 0000:5e:00.0: Port module event[error]: module 0, Cable error, Bad or unsupported EEPROM",
            "kernel.port_module",
            "error",
            {},
        ),
        (
            "NETDEV WATCHDOG: ens5 (mlx5_core): transmit queue 11 timed out",
            "kernel.nic_health",
            "error",
            {"interface": "ens5"},
        ),
        ("nfs: server fs-7 not responding, still trying", "kernel.nfs", "error", {"server": "fs-7"}),
        ("nfs: server fs-7 OK", "kernel.nfs", "info", {"state": "OK"}),
        ("Lustre: scr-MDT0000-mdc-ffff: This client was evicted by scr-MDT0000", "kernel.lustre", "error", {}),
        (
            "EXT4-fs error (device nvme0n1p2): ext4_find_entry:1455: inode #2: comm python: reading directory",
            "kernel.fs",
            "error",
            {"device": "nvme0n1p2"},
        ),
        (
            "XFS (sdb1): metadata I/O error in xfs_trans_read_buf_map+0x1 at daddr 0x0",
            "kernel.fs",
            "error",
            {"device": "sdb1", "filesystem": "XFS"},
        ),
        (
            "blk_update_request: I/O error, dev sdc, sector 2048 op 0x0:(READ)",
            "kernel.disk",
            "error",
            {"device": "sdc"},
        ),
        ("nvme nvme3: controller is down; will reset: CSTS=0xffffffff", "kernel.disk", "error", {"device": "nvme3"}),
    ],
)
def test_lines_of_the_kernel_about_devices(line, kind, level, fields):
    record = read_record(IO, line)
    assert (record.kind, record.level) == (kind, level)
    assert fields.items() <= record.fields.items()


@pytest.mark.parametrize(
    "line",
    [
        "EDAC amd64: MC: 0:     0MB 1: 16384MB",
        "pcieport 0000:00:03.0: AER: enabled with IRQ 34",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
        "XFS (nvme1n1): Ending clean mount",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
        "acpi PNP0A08:00: _OSC: OS now controls [PCIeHotplug PME AER PCIeCapability LTR DPC]",
        "mlx5_core 0000:5e:00.0: firmware version: 28.39.2048",
        "systemd[1]: Started Session 12 of user ada.",
        "oom_score_adj=0",
        "acme: module verification failed: signature and/or required key missing - tainting kernel",
        "mlx5_core 0000:5e:00.1 ens5f1np1: Link up",
    ],
)
def test_a_healthy_boot_gives_no_error(line):
    assert all(record.level == "info" for record in read(ALL, line))


KNOWN = (
    "NVRM: Xid (PCI:0000:4e:00): ",
    "oom-kill:constraint=",
    "Killed process ",
    "segfault at ",
    "INFO: task ",
    "NVRM: ",
    "AER: ",
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KNOWN), st.text(PRINTABLE, max_size=80), st.text(PRINTABLE, max_size=80))
def test_garbage_around_known_words_never_raises(words, before, after):
    read(ALL, f"{before}{words}{after}\n{after}\n{words}")


def test_only_errors_of_the_log_files_of_fabric_manager_and_imex_are_read():
    line = "[Sep 18 2026 06:40:3%d] [%s] [tid 77] no address of this node is in the list\n"
    record = read_record(records("gpu_tools"), line % (1, "INFO") + line % (2, "ERROR"))
    assert (record.kind, record.text) == ("gpu.fabric_log", "no address of this node is in the list")

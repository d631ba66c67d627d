from __future__ import annotations

from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs.multiline.kernel_gpu import read_device
from logdoctor.logs.record_pattern import Message

OS, GPU, IO = records("kernel"), records("kernel_gpu"), records("kernel_io")
ALL = (*OS, *GPU, *IO)


def test_talk_about_an_xid_gives_no_record():
    assert kinds(GPU, "we saw Xid 31 on two of the hosts last week") == []


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


def test_an_nvlink_fault_of_a_gpu_names_its_link():
    line = "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 07 (0x004505c6 0x00000000)"
    assert read_record(records("kernel_gpu"), line).fields["link"] == 7


def test_an_nvswitch_fault_names_its_link_and_whether_it_is_fatal():
    fatal = read_record(GPU, "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 31 LTSSM Fault Up")
    mild = read_record(GPU, "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 22013, Non-fatal, Link 60 RX Short Error Rate")
    data = read_record(GPU, "nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Data {0x00000031, 0x0000001f}")
    assert (fatal.kind, fatal.level, fatal.fields["link"], fatal.fields["severity"]) == (
        "kernel.other",
        "error",
        31,
        "Fatal",
    )
    assert (mild.level, mild.fields["sxid"]) == ("warning", 22013)
    assert (data.kind, data.level) == ("kernel.other", "info")


def test_a_driver_message_of_three_lines_is_one_lost_gpu():
    text = (
        "[ 41.1] NVRM: The NVIDIA GPU 0000:e1:00.0\n"
        "               NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands."
    )
    record = read_record(GPU, text)
    assert (record.kind, record.fields["bus_id"]) == ("kernel.other", "0000:e1:00")
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
    assert kinds(GPU, text)[0] == "kernel.other"


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
    assert (killed.kind, killed.level, killed.fields["rss_kb"]) == ("kernel.oom_kill", "fatal", 60129004)
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
        "kernel.segfault",
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


def test_kill_tells_whose_limit_it_was():
    report = (
        "oom-kill:constraint={},nodemask=(null),cpuset=/,mems_allowed=0,{}task_memcg=/job/step,task=python,pid=7,uid=0"
    )
    of_group = read_record(records("kernel"), report.format("CONSTRAINT_MEMCG", "oom_memcg=/job,")).fields
    of_node = read_record(records("kernel"), report.format("CONSTRAINT_NONE", "global_oom,")).fields
    assert (of_group.get("memcg"), of_group.get("whole_node")) == ("/job", None)
    assert (of_node.get("memcg"), of_node.get("whole_node")) == (None, "global_oom")

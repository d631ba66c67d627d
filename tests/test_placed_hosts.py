"""The node of a pod is the culprit if no line names another host."""

from __future__ import annotations

from failing_job import diagnose_log

PLACED = "  Normal   Scheduled  24m  default-scheduler  Successfully assigned ml/fit-{pod} to gke-{node}.c.internal\n"
SANDBOX = '  Warning  FailedCreatePodSandBox  2m  kubelet  Failed to create pod sandbox: no runtime for "nvidia" is configured\n'
RANK = "fit-0:71:310 [0] NCCL INFO comm 0x55d rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x1 - Init START\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB.\n"


def test_only_node_of_a_pod_is_the_place_and_not_the_culprit(knowledge):
    cause = diagnose_log(PLACED.format(pod=0, node="a7") + SANDBOX, knowledge).causes[0]
    assert (cause.signature, cause.culprit.hosts, cause.place.hosts) == ("job.container", (), ("gke-a7",))


def test_two_nodes_give_no_culprit(knowledge):
    log = PLACED.format(pod=0, node="a7") + PLACED.format(pod=1, node="a8") + SANDBOX
    assert diagnose_log(log, knowledge).causes[0].culprit.hosts == ()


def test_failure_inside_a_pod_names_the_pod(knowledge):
    diagnosis = diagnose_log(PLACED.format(pod=0, node="a7") + RANK + OOM, knowledge)
    assert diagnosis.causes[0].culprit.hosts == ("fit-0",)


STACK = "[trn03:4411] [ 3] /srv/solver(main+0x409) [0x41d369]\n[trn03:4411] *** End of error message ***\n"
EXITED = "mpirun noticed that process rank 5 with PID {pid} on node 10.8.0.3 exited on signal 6 (Aborted).\n"


def test_host_address_of_mpirun_is_replaced_by_the_name_of_the_process(knowledge):
    diagnosis = diagnose_log(STACK + EXITED.format(pid=4411), knowledge)
    assert (diagnosis.causes[0].culprit.hosts, diagnosis.job.hosts) == (("trn03",), ("trn03",))


def test_host_address_stays_without_a_process_of_that_pid(knowledge):
    assert "10.8.0.3" in diagnose_log(STACK + EXITED.format(pid=4412), knowledge).job.hosts


TABLE = """\
# Using devices
#  Rank  0 Group  0 Pid   5120 on     oak11 device  0 [0000:1a:00] NVIDIA L40S
#  Rank  1 Group  0 Pid   6230 on     oak12 device  0 [0000:1a:00] NVIDIA L40S
"""
TEST_FAILED = (
    "oak12: Test NCCL failure reduce.cu:77 'internal error - please report this issue to the NCCL developers / '\n"
)
ONE_EXITED = "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"


def test_host_that_a_table_of_ranks_lists_is_a_host_of_the_job(knowledge):
    diagnosis = diagnose_log(TABLE + TEST_FAILED + ONE_EXITED, knowledge)
    assert diagnosis.job.hosts == ("oak11", "oak12")
    assert (diagnosis.causes[0].signature, diagnosis.causes[0].culprit.hosts) == ("nccl.internal", ("oak12",))


def test_line_of_the_launcher_gets_no_host_if_a_table_lists_two(knowledge):
    diagnosis = diagnose_log(TABLE + TEST_FAILED + ONE_EXITED, knowledge)
    assert [e.host for s in diagnosis.symptoms for e in s.evidence] == [None]


def test_only_host_that_speaks_without_a_table_is_not_named(knowledge):
    assert diagnose_log(TEST_FAILED + ONE_EXITED, knowledge).causes[0].culprit.hosts == ()

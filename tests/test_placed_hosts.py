"""The node that a scheduler put a job on is to blame where no line names another; it is no host beside a pod's name."""

from __future__ import annotations

from failing_job import diagnosed

PLACED = "  Normal   Scheduled  24m  default-scheduler  Successfully assigned ml/fit-{pod} to gke-{node}.c.internal\n"
SANDBOX = '  Warning  FailedCreatePodSandBox  2m  kubelet  Failed to create pod sandbox: no runtime for "nvidia" is configured\n'
RANK = "fit-0:71:310 [0] NCCL INFO comm 0x55d rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x1 - Init START\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB.\n"


def test_the_only_node_that_a_pod_was_put_on_is_named(knowledge):
    found = diagnosed(PLACED.format(pod=0, node="a7") + SANDBOX, knowledge)
    assert (found.causes[0].signature, found.causes[0].culprit.hosts) == ("job.container", ("gke-a7",))


def test_of_two_nodes_none_is_named(knowledge):
    log = PLACED.format(pod=0, node="a7") + PLACED.format(pod=1, node="a8") + SANDBOX
    assert diagnosed(log, knowledge).causes[0].culprit.hosts == ()


def test_what_runs_in_the_pod_goes_by_the_name_of_the_pod(knowledge):
    found = diagnosed(PLACED.format(pod=0, node="a7") + RANK + OOM, knowledge)
    assert found.causes[0].culprit.hosts == ("fit-0",)

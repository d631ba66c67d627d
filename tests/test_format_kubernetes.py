from __future__ import annotations

import pytest
from format_probe import PRINTABLE, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.matcher import scan_form

RECORDS = records("kubernetes")

STATE = """    Last State:     Terminated
      Reason:       {reason}
      Exit Code:    {code}
      Started:      Mon, 01 Jan 2024 00:00:00 +0000"""


@pytest.mark.parametrize(
    ("reason", "code", "level"), [("OOMKilled", 137, "fatal"), ("Error", 1, "error"), ("Completed", 0, "info")]
)
def test_the_state_block_of_describe_is_one_event(reason, code, level):
    record = read_record(RECORDS, STATE.format(reason=reason, code=code))
    assert (record.kind, record.level) == ("kubernetes.terminated", level)
    assert record.fields == {"reason": reason, "exit_code": code}


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "trainer-worker-1   0/1     CrashLoopBackOff   5          10m",
            "kubernetes.pod_state",
            "error",
            {"pod": "trainer-worker-1", "state": "CrashLoopBackOff", "restarts": 5},
        ),
        (
            "trainer-worker-1   0/1     OOMKilled   0          10m",
            "kubernetes.pod_state",
            "error",
            {"state": "OOMKilled"},
        ),
        (
            "  Warning  FailedScheduling  3m (x4 over 10m)  default-scheduler  0/5 nodes are available: 5 Insufficient nvidia.com/gpu.",
            "kubernetes.unschedulable",
            "error",
            {"resource": "nvidia.com/gpu"},
        ),
        (
            "  Warning  BackOff    2m (x6 over 5m)  kubelet  Back-off restarting failed container",
            "kubernetes.back_off",
            "error",
            {},
        ),
        (
            "  Warning  Evicted  2m  kubelet  The node was low on resource: memory. Threshold quantity: 100Mi",
            "kubernetes.evicted",
            "fatal",
            {"resource": "memory"},
        ),
        (
            "Message:        The node was low on resource: ephemeral-storage.",
            "kubernetes.evicted",
            "fatal",
            {"resource": "ephemeral-storage"},
        ),
        (
            '  Warning  Failed     2m  kubelet  Failed to pull image "reg.example.org/x:1": rpc error: code = NotFound',
            "kubernetes.image",
            "error",
            {"image": "reg.example.org/x:1"},
        ),
        (
            '  Warning  FailedMount  2m  kubelet  MountVolume.SetUp failed for volume "data" : timeout',
            "kubernetes.mount",
            "error",
            {},
        ),
        (
            "  Warning  Unhealthy  2m  kubelet  Liveness probe failed: connection refused",
            "kubernetes.probe",
            "warning",
            {},
        ),
        ("  Warning  FancyNewReason  2m  kubelet  something nobody has seen", "kubernetes.event", "warning", {}),
        ('{"reason":"OOMKilled","exitCode":137}', "kubernetes.terminated", "fatal", {"reason": "OOMKilled"}),
        ("Job was active longer than specified deadline", "kubernetes.deadline", "fatal", {}),
        (
            "PyTorchJob lab/run7 is failed because 1 Worker replica(s) failed.",
            "kubernetes.job_failed",
            "fatal",
            {"job_kind": "PyTorchJob"},
        ),
        (
            'Error from server (NotFound): pods "run7-worker-0" not found',
            "kubernetes.refused",
            "error",
            {"code": "NotFound"},
        ),
        ("waiting for master", "kubernetes.waiting", "info", {}),
    ],
)
def test_lines_of_kubectl_and_operators_have_kinds(line, kind, level, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, level)
    assert fields.items() <= record.fields.items()


@pytest.mark.parametrize(
    "line",
    [
        "trainer-worker-2   1/1     Running   0          10m",
        "trainer-worker-2   0/1     Completed   0          10m",
        '  Normal   Pulled     2m    kubelet  Container image "x" already present on machine',
        "python  Warning  this is deprecated",
        "0 pods were preempted, 4 nodes are available",
    ],
)
def test_similar_healthy_lines_give_no_record(line):
    assert [s.kind for s in read(RECORDS, line) if s.level in {"error", "fatal"}] == []


def test_every_pattern_can_be_scanned_for():
    assert all(record.scan or scan_form(record.pattern) for record in RECORDS)


WORDS = st.sampled_from(
    [
        "  Warning  ",
        "Failed ",
        " 2m (x3 over 5m) kubelet ",
        "    State:     Terminated",
        "      Reason:       Error",
        "low on resource: ",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=8))
def test_garbage_around_known_words_never_raises(parts):
    read(RECORDS, "\n".join(parts))


@pytest.mark.parametrize(("times", "level"), [(3, "warning"), (29, "warning"), (30, "error")])
def test_service_that_does_not_answer_for_minutes_has_failed(times, level):
    line = f"  Warning  Unhealthy  2m (x{times} over 11m)  kubelet  Readiness probe failed: connect: connection refused"
    assert read_record(RECORDS, line).level == level

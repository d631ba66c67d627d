"""Objects of Kubernetes, as kubectl writes them: what is health, what a failure, and what belongs to another day."""

from __future__ import annotations

import io
import json

import pytest
import yaml

import logdoctor
from logdoctor.artefacts import Damaged, Document, Fact, read
from logdoctor.artefacts.yaml_pieces import MAX_DEPTH
from logdoctor.model import CALM, unread

RUNS = {"running": {"startedAt": "2026-03-04T02:00:31Z"}}
SCHEDULED = {"type": "PodScheduled", "status": "True"}


def ended(reason, code, **more):
    return {"terminated": {"reason": reason, "exitCode": code, "finishedAt": "2026-03-04T02:11:09Z", **more}}


def waits(reason, message=""):
    return {"waiting": {"reason": reason, "message": message}}


def pod(state, last=None, restarts=0, **status):
    containers = [{"name": "fit", "restartCount": restarts, "state": state, "lastState": last or {}}] if state else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "fit-0", "namespace": "lab", "uid": "5c1e"},
        "spec": {"nodeName": "gx07", "containers": [{"name": "fit", "resources": {"limits": {"memory": "64Gi"}}}]},
        "status": {"phase": "Running", "conditions": [SCHEDULED], "containerStatuses": containers, **status},
    }


def condition(kind, name, status, reason, message=""):
    told = {"type": name, "status": status, "reason": reason, "message": message}
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "gx07", "uid": "77ab"},
        "status": {"conditions": [told]},
    }


def event(minute, type_, reason, message, name="fit-0", **more):
    about = {"kind": "Pod", "name": name, "namespace": "lab"}
    when = {"lastTimestamp": f"2026-03-04T02:{minute:02}:00Z", "firstTimestamp": "2026-03-04T02:00:00Z"}
    head = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "x", "uid": "77ac"}}
    return {**head, "involvedObject": about, "type": type_, "reason": reason, "message": message, **when, **more}


def saved(*objects, form=json.dumps):
    return form({"apiVersion": "v1", "items": [*objects], "kind": "List"}).encode()


def diagnosed(knowledge, *objects):
    diagnosis = logdoctor.diagnose(data=saved(*objects), knowledge=knowledge)
    assert [source.read for source in diagnosis.coverage.inputs] == ["whole"]
    return diagnosis


def facts(data, kind):
    return [*read(Document("saved", kind, io.BytesIO(data).read))]


@pytest.mark.parametrize(
    "objects",
    [
        [pod(RUNS)],
        [pod(ended("Completed", 0), phase="Succeeded")],
        [pod(RUNS, ended("Completed", 0), 1)],
        [pod(waits("ContainerCreating"), phase="Pending")],
        [condition("Node", "MemoryPressure", "False", "KubeletHasSufficientMemory")],
        [condition("Node", "Ready", "True", "KubeletReady")],
        [condition("Job", "Complete", "True", "")],
        [
            event(1, "Normal", "Started", "Started container fit"),
            event(9, "Normal", "Killing", "Stopping container fit"),
        ],
        [
            event(1, "Warning", "FailedMount", "MountVolume.SetUp failed for volume x"),
            event(3, "Normal", "Started", "Started container fit"),
        ],
        [
            event(1, "Warning", "FailedScheduling", "0/9 nodes are available: 9 x."),
            event(3, "Normal", "Scheduled", "Successfully assigned lab/fit-0 to gx07"),
        ],
        [
            event(3, "Normal", "Pulled", 'Successfully pulled image "x"'),
            event(1, "Warning", "Failed", 'Failed to pull image "x": timeout'),
        ],
    ],
)
def test_healthy_objects_show_no_failure(objects, knowledge):
    diagnosis = diagnosed(knowledge, *objects)
    assert diagnosis.verdict in (*CALM, "nothing-to-judge")
    assert not diagnosis.causes


@pytest.mark.parametrize(
    ("told", "signature"),
    [
        (pod(waits("CrashLoopBackOff"), ended("OOMKilled", 137), 6), "host.oom-kill"),
        (pod(waits("CrashLoopBackOff")), "job.container"),
        (pod(waits("ImagePullBackOff", 'Back-off pulling image "reg/x:1"')), "job.container"),
        (pod(ended("StartError", 128)), "job.container"),
        (
            pod(
                ended(
                    "Error",
                    1,
                    message="Traceback (most recent call last):\n  File \"/a/f.py\", line 3, in <module>\n    d[k]\nKeyError: 'k'",
                )
            ),
            "app.exception",
        ),
        (pod(None, reason="Evicted", message="The node was low on resource: memory."), "host.oom-kill"),
        (pod(None, reason="Evicted", message="The node was low on resource: ephemeral-storage."), "host.disk-full"),
        (
            pod(None, reason="Terminated", message="Pod was terminated in response to imminent node shutdown."),
            "job.preempted",
        ),
        (pod(None, reason="DeadlineExceeded"), "job.time-limit"),
        (pod(None, reason="OutOfnvidia.com/gpu"), "job.resources"),
        (
            condition(
                "Pod",
                "PodScheduled",
                "False",
                "Unschedulable",
                "0/9 nodes are available: 9 Insufficient nvidia.com/gpu.",
            ),
            "job.resources",
        ),
        (condition("Pod", "DisruptionTarget", "True", "PreemptionByScheduler"), "job.preempted"),
        (condition("Node", "Ready", "False", "KubeletNotReady", "container runtime is down"), "host.node-failure"),
        (condition("Workload", "Evicted", "True", "Preempted"), "job.preempted"),
        (condition("Job", "Failed", "True", "DeadlineExceeded"), "job.time-limit"),
        (event(1, "Warning", "BackOff", "Back-off restarting failed container fit"), "job.container"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_failed_object_has_a_cause(told, signature, knowledge):
    assert diagnosed(knowledge, told).causes[0].signature == signature


def test_answer_names_node_pod_and_limit(knowledge):
    cause = diagnosed(knowledge, pod(ended("OOMKilled", 137), phase="Failed")).causes[0]
    assert cause.culprit.hosts == ("gx07",)
    assert "fit-0" in cause.title
    assert "above 64Gi" in cause.steps[0].text


def test_exit_code_of_a_lost_container_tells_nothing(knowledge):
    assert not diagnosed(knowledge, pod(ended("ContainerStatusUnknown", 137))).causes


def test_event_of_another_pod_shows_no_recovery(knowledge):
    warning = event(1, "Warning", "FailedScheduling", "0/9 nodes are available: 9 Insufficient nvidia.com/gpu.")
    assert diagnosed(knowledge, warning, event(3, "Normal", "Started", "Started container fit", name="fit-1")).causes


@pytest.mark.parametrize(("count", "verdict"), [(3, "nothing-to-judge"), (40, "unknown")])
def test_probe_that_fails_for_minutes_is_a_failure(count, verdict, knowledge):
    started = event(1, "Normal", "Started", "Started container fit")
    probe = event(9, "Warning", "Unhealthy", "Readiness probe failed: connection refused", count=count)
    assert diagnosed(knowledge, started, probe).verdict == verdict


def test_json_and_yaml_tell_the_same():
    objects = pod(waits("CrashLoopBackOff"), ended("OOMKilled", 137), 6), event(1, "Warning", "BackOff", "Back-off …")
    as_json, as_yaml = (
        facts(saved(*objects), "kubernetes"),
        facts(saved(*objects, form=yaml.safe_dump), "kubernetes-yaml"),
    )
    assert [(f.kind, f.text, f.fields, f.where) for f in as_json if isinstance(f, Fact)] == [
        (f.kind, f.text, f.fields, f.where) for f in as_yaml if isinstance(f, Fact)
    ]
    assert as_json[-1].text == as_yaml[-1].text


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1, 2]\nb: *x",
        "a: !!python/object/apply:os.system [ls]",
        "a: " + "[" * (MAX_DEPTH + 2),
        "a: 'open",
        "- a list",
        "\0",
    ],
)
def test_yaml_that_no_program_writes_is_refused(text):
    with pytest.raises(Damaged):
        facts(f"apiVersion: v1\nkind: Pod\n{text}\n".encode(), "kubernetes-yaml")


def test_yaml_larger_than_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr("logdoctor.artefacts.yaml_pieces.MAX_BYTES", 1000)
    with pytest.raises(Damaged, match="longer than"):
        facts(b"x: 1\n" * 999, "kubernetes-yaml")


@pytest.mark.parametrize("name", ["job.json", "job.yaml"])
def test_manifest_is_no_report(name, tmp_path, knowledge):
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "fit"}, "spec": {"backoffLimit": 4}}
    (tmp_path / name).write_text((json.dumps if name.endswith("json") else yaml.safe_dump)(manifest))
    (tmp_path / "job.log").write_text("step 1 loss: 2.0\nstep 2 loss: 1.9\nTraining completed.\n")
    diagnosis = logdoctor.diagnose(tmp_path, knowledge=knowledge)
    assert diagnosis.verdict == "finished"
    assert not unread(diagnosis.coverage)

"""Steps that the job has no use for are left out, and the step for the value that was found stands first."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from logdoctor.model import Step, StepWords
from logdoctor.reasoning.findings.wording import Circumstances, choose_steps
from logdoctor.reasoning.verdict.fitting_steps import fitting_steps
from logdoctor.render.catalogue import catalogue

KEPT = Step("Check: the job runs.")


def state(nodes: int | None = None, *files: str, hosts: tuple[str, ...] = ("n1",), kernel: str = "") -> SimpleNamespace:
    lives = SimpleNamespace(
        line_counts=dict.fromkeys(files, 9),
        kinds={"kernel.xid"} if kernel else set(),
        is_machine_log=lambda file: file == kernel,
    )
    processes = SimpleNamespace(hosts=hosts, communicators=SimpleNamespace(nodes=nodes))
    return SimpleNamespace(environment={("NCCL_DEBUG", "INFO"): None}, lives=lives, processes=processes)


@pytest.mark.parametrize(
    ("step", "job", "told"),
    [
        (Step("Run it with `NCCL_DEBUG=INFO`."), state(), False),
        (Step("Run it with `NCCL_DEBUG=TRACE`."), state(), True),
        (Step("Read its log.", ("tail -n 50 /tmp/s/raylet.out",)), state(None, "logs/raylet.out"), False),
        (Step("Read `raylet.out` there."), state(None, "logs/raylet.out"), False),
        (Step("Read `raylet.out` there."), state(None, "logs/gcs.out"), True),
        (Step("Look for Xid lines.", ("ssh n1 dmesg -T",)), state(1, "k.log", kernel="k.log"), False),
        (Step("Look for Xid lines.", ("ssh n1 dmesg -T",)), state(2, "k.log", kernel="k.log"), True),
        (Step("Check: `osu_bw` runs between the two hosts."), state(1), False),
        (Step("Check: `osu_bw` runs between the two hosts."), state(), True),
        (Step("Check: `osu_bw` runs between the two hosts."), state(1, hosts=("n1", "n2")), True),
    ],
)
def test_step_that_was_done_or_read_or_needs_other_hosts_is_left_out(step, job, told):
    assert fitting_steps((step, KEPT), job, catalogue("en")) == ((step, KEPT) if told else (KEPT,))


def test_all_steps_stay_if_none_would_be_left():
    step = Step("Run it with `NCCL_DEBUG=INFO`.")
    assert fitting_steps((step,), state(), catalogue("en")) == (step,)


@pytest.mark.parametrize(
    ("errno", "first"), [(24, "Raise the limit."), (111, "Find the peer."), (None, "Find the peer.")]
)
def test_step_for_the_value_that_was_found_stands_first(errno, first):
    steps = (StepWords(("Find the peer.",)), StepWords(("Raise the limit.",), first=(("is", ("errno=11,24",)),)))
    assert choose_steps(steps, {"errno": errno}, Circumstances({}))[0].do == (first,)

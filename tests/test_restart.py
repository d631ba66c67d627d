"""Steps that carry out a decision."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from render_diagnoses import OOM, STOPPED, UNKNOWN, make_evidence

from logdoctor.model import Checkpoint, Coverage, Decision, JobSummary, Line, Progress, Suspect
from logdoctor.model.coverage import InputRead
from logdoctor.reasoning.verdict.restart import restart_steps
from logdoctor.render.catalogue import catalogue

WORDS = catalogue("en")
SLURM = JobSummary(id="48213", scheduler="slurm")
LOG = Coverage(inputs=(InputRead("out/slurm-48213.out"),))


def steps(decision, diagnosis):
    return restart_steps(decision, diagnosis, WORDS)


def without(*hosts):
    return Decision("requeue-without-host", hosts=hosts)


def test_slurm_job_is_requeued_with_a_copy_of_its_log():
    (step,) = steps(Decision("requeue"), replace(OOM, job=SLURM, coverage=LOG))
    assert step.commands == ("cp out/slurm-48213.out out/slurm-48213.run1.out", "scontrol requeue 48213")


def test_slurm_job_is_requeued_without_its_hosts():
    (step,) = steps(without("gpu-c04", "gpu-c05"), replace(OOM, job=SLURM))
    assert step.commands == (
        "scontrol requeuehold 48213",
        "scontrol update JobId=48213 ExcNodeList=gpu-c04,gpu-c05",
        "scontrol release 48213",
    )


def test_job_without_an_id_gets_prose():
    (step,) = steps(without("gpu-c04"), OOM)
    assert step.text == "Start the job again without gpu-c04 (Slurm: `sbatch --exclude=gpu-c04`)."
    assert step.commands == ()


@pytest.mark.parametrize("host", ["n1; rm -rf /", "$(reboot)", "-w", "a b", "<host-a>", "n1\nn2"])
def test_name_that_a_shell_would_read_gets_into_no_command(host):
    (step,) = steps(without(host), replace(OOM, job=SLURM))
    assert step.commands == ()


@pytest.mark.parametrize("job", ["1; reboot", "-9", "array", ""])
def test_job_id_that_is_no_number_gets_into_no_command(job):
    (step,) = steps(Decision("requeue"), replace(OOM, job=JobSummary(id=job, scheduler="slurm")))
    assert step.commands == ()


def test_file_that_a_shell_would_read_is_not_copied():
    hostile = Coverage(inputs=(InputRead("$(x)/slurm-48213.out"),))
    (step,) = steps(Decision("requeue"), replace(OOM, job=SLURM, coverage=hostile))
    assert step.commands == ("scontrol requeue 48213",)


def test_steps_that_remain_after_a_checkpoint_are_told_with_their_time():
    job = replace(
        SLURM,
        last_progress=Progress("step", "14120/20000", make_evidence("a.log:1", "step 14120/20000")),
        last_checkpoint=Checkpoint(14000, "ckpt/14000", Line("a.log", 1, "saved")),
        step_seconds=6.1,
    )
    _, remaining = steps(Decision("requeue"), replace(STOPPED, job=job))
    assert remaining.text == "6,000 steps remain: about 10 h at 6.1 s a step. 120 steps are done again."


def test_person_who_cancelled_a_slurm_job_is_asked():
    (step,) = steps(Decision("do-nothing"), replace(STOPPED, job=SLURM))
    assert step.commands == ("sacct -X -j 48213 -o JobID,State%30,End",)


def test_process_that_stands_apart_in_a_hanging_job_is_asked_for_its_stack():
    suspect = Suspect(rank=5, host="gpu-a02", pid=30517)
    hanging = replace(UNKNOWN, suspects=(suspect,), coverage=Coverage(inputs=(InputRead("job.log"),)))
    (step,) = steps(Decision("investigate", running=True), hanging)
    assert step.commands == (
        "ssh gpu-a02 py-spy dump --pid 30517 > stack-30517.txt",
        "ssh gpu-a02 dmesg -T > dmesg-gpu-a02.txt",
        "logdoctor --hung job.log stack-30517.txt dmesg-gpu-a02.txt",
    )


def test_process_without_a_host_or_pid_is_not_asked():
    hanging = replace(UNKNOWN, suspects=(Suspect(rank=5, host="gpu-a02"), Suspect(rank=6, pid=7)))
    assert steps(Decision("investigate", running=True), hanging) == ()

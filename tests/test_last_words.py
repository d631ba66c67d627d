"""Several jobs in one file, told apart by repeated final messages."""

from __future__ import annotations

from failing_job import diagnose_log, summary

from logdoctor.model import Diagnosis

WARNED = (
    "/opt/env/lib/python3.11/site-packages/timm/layers/__init__.py:48: FutureWarning: import from timm.layers\n"
    "  warnings.warn(\n"
)
NO_KEY = """\
Traceback (most recent call last):
  File "fit.py", line 88, in <module>
    main()
  File "fit.py", line 14, in main
    rows = table[name]
KeyError: 'labels'
"""
OOM = """\
Traceback (most recent call last):
  File "fit.py", line 90, in <module>
    main()
  File "fit.py", line 31, in main
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU 0 has a total capacity of 39.39 GiB of \
which 1.02 GiB is free.
"""
CANCELLED = "slurmstepd: error: *** JOB {job} ON cn17 CANCELLED AT 2025-06-{day}T10:00:{second} ***\n"


def runs(diagnosis: Diagnosis) -> list[tuple[str | None, bool]]:
    return [(run.signature, run.told) for run in diagnosis.runs]


def test_two_failures_of_a_script_before_its_steps_are_two_runs(knowledge):
    diagnosis = diagnose_log(WARNED + OOM + WARNED + NO_KEY, knowledge)
    assert runs(diagnosis) == [("cuda.oom", False), ("app.exception", True)]


def test_repeated_loading_of_modules_is_another_job(knowledge):
    loaded = "Loaded module: cuda/11.8\n"
    assert runs(diagnose_log(loaded + OOM + loaded + NO_KEY, knowledge)) == [
        ("cuda.oom", False),
        ("app.exception", True),
    ]


def test_two_ranks_that_fail_without_lines_between_are_one_run(knowledge):
    assert diagnose_log(WARNED * 2 + OOM + NO_KEY, knowledge).runs == ()


def test_failure_of_another_script_is_no_second_run(knowledge):
    diagnosis = diagnose_log(WARNED + OOM + WARNED + NO_KEY.replace("fit.py", "evaluate.py"), knowledge)
    assert (diagnosis.causes[0].signature, diagnosis.runs) == ("cuda.oom", ())


def test_rank_reported_dead_twice_by_torchrun_belongs_to_two_jobs(knowledge):
    log = OOM + summary(0, host="cn17", pid=811) + NO_KEY + summary(0, host="cn18", pid=977)
    assert runs(diagnose_log(log, knowledge)) == [("cuda.oom", False), ("app.exception", True)]


def test_summaries_of_two_nodes_belong_to_one_job(knowledge):
    log = OOM + summary(0, host="cn17", pid=811) + summary(8, host="cn18", pid=977)
    assert diagnose_log(log, knowledge).runs == ()


def test_end_of_a_second_slurm_job_is_reported_after_a_failed_first(knowledge):
    log = OOM + CANCELLED.format(job=71, day=10, second="01") + WARNED + CANCELLED.format(job=72, day=11, second="01")
    assert runs(diagnose_log(log, knowledge)) == [("cuda.oom", False), ("job.preempted", True)]


def test_jobs_cancelled_together_are_one_run(knowledge):
    log = CANCELLED.format(job=71, day=10, second="01") + CANCELLED.format(job=72, day=10, second="02")
    assert diagnose_log(log, knowledge).runs == ()


def test_requeued_job_that_is_cancelled_again_is_one_run(knowledge):
    log = CANCELLED.format(job=71, day=10, second="01") + CANCELLED.format(job=71, day=11, second="01")
    assert diagnose_log(log, knowledge).runs == ()


def test_last_of_very_many_jobs_is_reported(knowledge):
    ends = [CANCELLED.format(job=n, day=10 + n % 20, second="01") for n in range(80)]
    diagnosis = diagnose_log("".join(ends) + OOM + CANCELLED.format(job=99, day=31, second="09"), knowledge)
    assert diagnosis.causes[0].signature == "cuda.oom"


REPORT = """\
Sender: LSF System <lsfadmin@gx01>
Subject: Job {job}: <fit> in cluster <c1> Exited

Exited with exit code 1.

The output (if any) {where}

"""
STATUS = "======\n               Resource Usage on 2025-05-04 20:42:12:\n   Job Id: {job}.gadi-pbs\n   Exit Status: 1\n======\n"


def lsf(job: int, where: str = "is above this job summary.") -> str:
    return REPORT.format(job=job, where=where)


def test_jobs_with_output_above_the_lsf_reports_are_two_runs(knowledge):
    diagnosis = diagnose_log(OOM + lsf(71) + NO_KEY + lsf(72), knowledge)
    assert runs(diagnosis) == [("cuda.oom", False), ("app.exception", True)]


def test_jobs_with_output_below_the_lsf_reports_are_two_runs(knowledge):
    diagnosis = diagnose_log(lsf(71, "follows:") + OOM + lsf(72, "follows:") + NO_KEY, knowledge)
    assert runs(diagnosis) == [("cuda.oom", False), ("app.exception", True)]


def test_jobs_with_pbs_summaries_are_two_runs(knowledge):
    diagnosis = diagnose_log(OOM + STATUS.format(job=71) + NO_KEY + STATUS.format(job=72), knowledge)
    assert runs(diagnosis) == [("cuda.oom", False), ("app.exception", True)]


INTERRUPTED = """\
^CTraceback (most recent call last):
  File "fit.py", line 88, in <module>
    main()
  File "fit.py", line 12, in main
    table = read(path)
KeyboardInterrupt
"""
LAUNCHER_INTERRUPTED = """\
Traceback (most recent call last):
  File "/opt/env/lib/python3.7/site-packages/torch/distributed/launch.py", line 253, in main
    process.wait()
KeyboardInterrupt
"""


def test_failure_after_an_interrupt_of_the_same_script_is_another_run(knowledge):
    for first in (INTERRUPTED, INTERRUPTED + LAUNCHER_INTERRUPTED):
        diagnosis = diagnose_log(first + NO_KEY, knowledge)
        assert runs(diagnosis) == [("job.preempted", False), ("app.exception", True)]


def test_consequence_of_an_interrupt_belongs_to_the_same_run(knowledge):
    broken = NO_KEY.replace("KeyError: 'labels'", "ConnectionResetError: [Errno 104] Connection reset by peer")
    while_handled = "\nDuring handling of the above exception, another exception occurred:\n\n" + NO_KEY
    for rest in (broken, while_handled):
        assert diagnose_log(INTERRUPTED + rest, knowledge).runs == ()


def test_command_typed_below_an_end_starts_another_run(knowledge):
    other = NO_KEY.replace("fit.py", "evaluate.py")
    for prompt in ("kim@ws4:~/proj$ ", "(env) [kim@ws4 proj]$ ", "$ ", "(env) PS C:\\proj> ", "root@5f2a:/work# "):
        log = f"{prompt}python fit.py\n{OOM}{prompt}CUDA_VISIBLE_DEVICES=0 python evaluate.py --all\n{other}"
        if "PS" in prompt:
            log = log.replace("CUDA_VISIBLE_DEVICES=0 ", "")
        assert runs(diagnose_log(log, knowledge)) == [("cuda.oom", False), ("app.exception", True)], prompt


def test_command_typed_while_the_job_runs_starts_no_run(knowledge):
    assert diagnose_log("kim@ws4:~$ bash run.sh &\nkim@ws4:~$ python watch.py\n" + OOM, knowledge).runs == ()

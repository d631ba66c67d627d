"""Several jobs or attempts in one log: the last run that states why it failed is diagnosed."""

from __future__ import annotations

import pytest
from failing_job import diagnose_log, summary

import logdoctor
from logdoctor.authoring.rule_check import first_signature
from logdoctor.model import CALM, Diagnosis

BANNER = """\
W0611 09:14:02.117000 88121 torch/distributed/run.py:792] *****************************************
W0611 09:14:02.117000 88121 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each process \
to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in \
your application as needed.
"""
NCCL = "NCCL version 2.21.5+cuda12.4\n"
OOM = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/srv/exp/pretrain.py", line 88, in <module>
[rank3]:     main()
[rank3]:   File "/srv/exp/pretrain.py", line 71, in main
[rank3]:     loss = step(batch)
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU 3 has a total capacity of 39.39 \
GiB of which 1.02 GiB is free.
"""
NO_KEY = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/srv/exp/pretrain.py", line 88, in <module>
[rank1]:     main()
[rank1]:   File "/srv/exp/dataset.py", line 14, in read
[rank1]:     return self.rows[name]
[rank1]: KeyError: 'input_ids'
"""
RESTART = (
    "W0611 09:20:44.402000 88121 torch/distributed/elastic/agent/server/api.py:874] [default] Worker group FAILED. "
    "{left}/3 attempts left; will restart worker group\n"
)
FOUND_DEAD = (
    "E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
    "local_rank: 1 (pid: 88140) of binary: /opt/conda/bin/python\n"
)
GAVE_UP = """\
Traceback (most recent call last):
  File "/opt/conda/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""
LOAD = "loading checkpoint from /srv/exp/base\n"
DONE = "Training completed in 4.1 h\n"


def steps(first: int, last: int) -> str:
    return "".join(f"step {n}: loss {3.1 - n / 1000:.3f}\n" for n in range(first, last + 1))


def epochs(first: int, last: int) -> str:
    return "".join(f"Epoch {n}: train_loss={3.1 - n / 10:.3f}\n" for n in range(first, last + 1))


def cause(diagnosis: Diagnosis) -> str:
    return first_signature(diagnosis)


def verdicts(diagnosis: Diagnosis) -> list[tuple[str, str | None, bool]]:
    return [(run.verdict, run.signature, run.told) for run in diagnosis.runs]


def test_single_run_is_not_listed(knowledge):
    diagnosis = diagnose_log(BANNER + NCCL + steps(1, 9) + OOM + summary(3), knowledge)
    assert (cause(diagnosis), diagnosis.runs) == ("cuda.oom", ())


def test_failure_after_a_restart_is_diagnosed_and_the_first_attempt_is_listed(knowledge):
    log = BANNER + steps(1, 5) + OOM + RESTART.format(left=2) + steps(1, 5) + NO_KEY + summary(1)
    diagnosis = diagnose_log(log, knowledge)
    assert diagnosis.causes[0].culprit.ranks == (1,)
    assert cause(diagnosis) != "cuda.oom"
    assert verdicts(diagnosis) == [("failed", "cuda.oom", False), ("failed", cause(diagnosis), True)]
    assert diagnosis.job.attempts == 2


def test_attempt_without_a_cause_is_explained_by_the_attempt_before(knowledge):
    diagnosis = diagnose_log(steps(1, 5) + OOM + RESTART.format(left=2) + summary(3), knowledge)
    assert cause(diagnosis) == "cuda.oom"


def test_failure_before_a_working_restart_is_outlived(knowledge):
    diagnosis = diagnose_log(steps(1, 5) + OOM + RESTART.format(left=2) + steps(3, 40), knowledge)
    assert diagnosis.verdict in CALM
    assert verdicts(diagnosis)[0] == ("failed", "cuda.oom", False)


def test_failure_before_a_silent_restart_by_torchrun_is_outlived(knowledge):
    diagnosis = diagnose_log(BANNER + steps(0, 2) + NO_KEY + FOUND_DEAD + steps(1, 8), knowledge)
    assert diagnosis.verdict in CALM


def test_failure_before_torchrun_gave_up_is_not_outlived_by_another_job(knowledge):
    diagnosis = diagnose_log(BANNER + steps(0, 2) + NO_KEY + FOUND_DEAD + GAVE_UP + steps(1, 8), knowledge)
    assert diagnosis.causes[0].signature == "app.exception"


def test_restart_reported_by_several_agents_counts_once(knowledge):
    log = steps(1, 5) + OOM + RESTART.format(left=2) * 3 + steps(3, 40)
    assert diagnose_log(log, knowledge).job.attempts == 2


def test_last_of_very_many_attempts_is_diagnosed(knowledge):
    log = (steps(1, 3) + OOM + RESTART.format(left=9)) * 80 + steps(1, 3) + NO_KEY + summary(1)
    diagnosis = diagnose_log(log, knowledge)
    assert (diagnosis.causes[0].culprit.ranks, diagnosis.job.attempts) == ((1,), 81)


def test_failure_is_not_outlived_by_steps_of_a_later_job(knowledge):
    log = LOAD + steps(1, 9) + OOM.replace("[rank3]: ", "") + LOAD + steps(1, 40)
    assert cause(diagnose_log(log, knowledge)) == "cuda.oom"


def test_failure_before_a_later_job_that_ended_well_is_healthy(knowledge):
    log = BANNER + NCCL + steps(1, 9) + OOM + summary(3) + BANNER + NCCL + steps(1, 40) + DONE
    diagnosis = diagnose_log(log, knowledge)
    assert diagnosis.verdict in CALM
    assert verdicts(diagnosis) == [("failed", "cuda.oom", False), ("finished", None, False)]


def counted(last: int) -> str:
    return "".join(f"Iter {n}/40, loss: 2.{n}\n" for n in range(1, last + 1))


@pytest.mark.parametrize(("last", "answer"), [(40, "healthy"), (39, "cuda.oom")])
def test_failure_before_a_later_job_is_healthy_only_if_that_made_its_last_step(knowledge, last, answer):
    assert cause(diagnose_log(LOAD + counted(9) + PLAIN_OOM + LOAD + counted(last), knowledge)) == answer


def test_failure_is_not_outlived_by_the_last_step_of_another_rank(knowledge):
    assert cause(diagnose_log(LOAD + counted(39) + PLAIN_OOM + "Iter 40/40, loss: 2.1\n", knowledge)) == "cuda.oom"


def test_last_of_two_failed_jobs_is_diagnosed(knowledge):
    first = BANNER + NCCL + steps(1, 9) + OOM + summary(3)
    diagnosis = diagnose_log(first + BANNER + NCCL + steps(1, 9) + NO_KEY + summary(1), knowledge)
    assert diagnosis.causes[0].culprit.ranks == (1,)
    assert [run.signature for run in diagnosis.runs] == ["cuda.oom", cause(diagnosis)]
    assert (diagnosis.runs[0].first_line, diagnosis.runs[0].last_line) == (1, (first + BANNER).count("\n") - 1)


def test_rank_table_holds_failures_of_the_selected_run(knowledge):
    first = BANNER + NCCL + steps(1, 9) + OOM + summary(3)
    diagnosis = diagnose_log(first + BANNER + NCCL + steps(1, 9) + NO_KEY + summary(1), knowledge)
    assert [row.rank for row in diagnosis.job.rank_table if row.failure] == [1]


def facts(diagnosis: Diagnosis) -> tuple[str, str, tuple[str, ...]]:
    progress = diagnosis.job.last_progress
    return progress.value if progress else "", dict(diagnosis.job.versions)["nccl"], diagnosis.job.hosts


def test_progress_versions_and_hosts_are_those_of_the_selected_run(knowledge):
    first = BANNER + NCCL + "trn07:88140:88140 [0] NCCL INFO cudaDriverVersion 12040\n" + steps(1, 40) + OOM
    second = NCCL.replace("2.21.5", "2.26.2") + "trn09:511:511 [0] NCCL INFO cudaDriverVersion 12040\n" + steps(1, 7)
    log = first + summary(3) + BANNER + second + NO_KEY
    assert facts(diagnose_log(log, knowledge)) == ("7", "2.26.2", ("trn09",))


def test_progress_is_that_of_the_selected_run_even_if_another_followed(knowledge):
    log = BANNER + NCCL + steps(1, 40) + OOM + RESTART.format(left=2) + NO_KEY + summary(1)
    diagnosis = diagnose_log(log, knowledge)
    assert [run.told for run in diagnosis.runs] == [True, False]
    assert facts(diagnosis)[0] == "40"


def test_preempted_and_requeued_job_is_the_same_job(knowledge):
    ended = "slurmstepd: error: *** JOB 4471 ON trn02 CANCELLED AT 2025-06-11T10:02:11 DUE TO PREEMPTION ***\n"
    diagnosis = diagnose_log(NCCL + steps(1, 9) + ended + NCCL + steps(5, 40), knowledge)
    assert (diagnosis.verdict, [run.kind for run in diagnosis.runs]) == ("no-end-seen", ["job", "attempt"])


def test_kernel_line_counts_for_all_attempts(knowledge):
    xid = "[ 8123.412345] NVRM: Xid (PCI:0000:9b:00): 79, pid=88140, name=python, GPU has fallen off the bus.\n"
    log = steps(1, 5) + xid + RESTART.format(left=2) + OOM + summary(3)
    assert cause(diagnose_log(log, knowledge)) == cause(diagnose_log(xid, knowledge))


def test_folders_of_attempts_are_counted_as_attempts(knowledge, tmp_path):
    for attempt, text in enumerate((OOM, steps(1, 4))):
        folder = tmp_path / f"attempt_{attempt}" / "3"
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text(text)
    assert logdoctor.diagnose([tmp_path], knowledge=knowledge).job.attempts == 2


def test_caught_exception_is_outlived(knowledge):
    caught = OOM.replace("in <module>", "in train_one").replace("[rank3]: ", "")
    assert diagnose_log(LOAD + steps(1, 9) + caught + LOAD + steps(10, 40), knowledge).verdict in CALM


def test_failure_before_a_resume_is_outlived(knowledge):
    log = LOAD + steps(1, 9) + OOM.replace("[rank3]: ", "") + "Resuming from checkpoint step_8\n" + steps(9, 40)
    assert diagnose_log(log, knowledge).verdict in CALM


def test_script_that_fails_before_the_job_is_outlived(knowledge):
    log = OOM.replace("[rank3]: ", "") + LOAD + steps(1, 40)
    assert diagnose_log(log, knowledge).verdict in CALM


def test_late_start_of_a_second_node_is_no_second_job(knowledge):
    log = BANNER + NO_KEY + summary(1) + BANNER.replace("88121", "40017") + NCCL
    diagnosis = diagnose_log(log, knowledge)
    assert (diagnosis.causes[0].culprit.ranks, diagnosis.runs) == ((1,), ())


PLAIN_OOM = OOM.replace("[rank3]: ", "")
PLAIN_NO_KEY = NO_KEY.replace("[rank1]: ", "")


def test_last_of_two_failed_runs_without_a_launcher_is_diagnosed(knowledge):
    diagnosis = diagnose_log(LOAD + steps(1, 9) + PLAIN_OOM + LOAD + steps(1, 12) + PLAIN_NO_KEY, knowledge)
    assert verdicts(diagnosis) == [("failed", "cuda.oom", False), ("failed", cause(diagnosis), True)]
    assert cause(diagnosis) == "app.exception"


def test_hang_up_of_the_second_run_is_diagnosed_after_a_failed_first(knowledge):
    hang_up = "WARNING:torch.distributed.elastic.agent.server.api:Received 1 death signal, shutting down workers\n"
    diagnosis = diagnose_log(BANNER + NCCL + steps(1, 9) + OOM + summary(3) + steps(1, 12) + hang_up, knowledge)
    assert verdicts(diagnosis) == [("failed", "cuda.oom", False), ("stopped", "job.hangup", True)]


def test_short_runs_are_separated_after_a_run_with_very_many_steps(knowledge):
    log = steps(1, 40_000) + PLAIN_OOM + steps(1, 40) + PLAIN_NO_KEY + steps(1, 40) + PLAIN_OOM + steps(1, 40_000)
    diagnosis = diagnose_log(log, knowledge)
    assert [run.signature for run in diagnosis.runs] == ["cuda.oom", "app.exception", "cuda.oom", None]


def test_last_run_is_diagnosed_beyond_the_limit_of_runs(knowledge):
    log = (steps(1, 5) + PLAIN_NO_KEY) * 40 + steps(1, 5) + PLAIN_OOM
    diagnosis = diagnose_log(log, knowledge)
    assert (cause(diagnosis), diagnosis.runs[-1].signature) == ("cuda.oom", "cuda.oom")


def test_failed_script_that_ends_well_in_a_second_run_is_healthy(knowledge):
    diagnosis = diagnose_log(LOAD + steps(1, 9) + PLAIN_OOM + LOAD + steps(1, 40) + DONE, knowledge)
    assert diagnosis.verdict in CALM
    assert verdicts(diagnosis) == [("failed", "cuda.oom", False), ("finished", None, False)]


def test_script_that_resumes_is_listed_as_an_attempt(knowledge):
    log = LOAD + steps(1, 9) + PLAIN_OOM + "Resuming from checkpoint step_8\n" + steps(9, 12) + PLAIN_NO_KEY
    assert [(run.kind, run.signature) for run in diagnose_log(log, knowledge).runs] == [
        ("job", "cuda.oom"),
        ("attempt", "app.exception"),
    ]


def test_exception_between_two_steps_begins_no_run(knowledge):
    for before, after in (
        (steps(1, 9), steps(10, 40)),
        (steps(1, 9), steps(10, 20) + steps(1, 20)),
        (epochs(0, 0), epochs(1, 9)),
    ):
        assert diagnose_log(LOAD + before + PLAIN_NO_KEY + LOAD + after, knowledge).runs == ()


def test_start_of_another_rank_after_a_failure_is_no_second_run(knowledge):
    log = LOAD + steps(1, 4) + PLAIN_NO_KEY + LOAD + NCCL + PLAIN_OOM
    assert diagnose_log(log, knowledge).runs == ()


@pytest.mark.parametrize(
    "line",
    ["step {}0: loss=2.1", "Epoch: [0][{}0/5005]\tTime  0.3 (0.4)\tLoss 6.9 (7.0)", "{{'loss': 2.3, 'epoch': 0.{}}}"],
)
def test_steps_that_start_over_after_a_failure_are_another_run(knowledge, line):
    work = LOAD + "".join(line.format(n) + "\n" for n in range(1, 9))
    assert [run.signature for run in diagnose_log(work + PLAIN_OOM + work + PLAIN_NO_KEY, knowledge).runs] == [
        "cuda.oom",
        "app.exception",
    ]


def test_progress_bars_after_a_failure_are_no_second_run(knowledge):
    bars = "".join(f"Map:  {n}0%|#         | {n}0/100 [00:0{n}<00:09, 10.1 examples/s]\n" for n in range(9))
    assert diagnose_log(LOAD + bars + PLAIN_NO_KEY + LOAD + bars, knowledge).runs == ()


def test_worker_found_dead_again_under_another_pid_shows_another_attempt(knowledge):
    failed = NO_KEY.replace("[rank1]: ", "")
    dead = [FOUND_DEAD.replace("88140", f"8{n}140").replace("09:20:43", f"09:20:{n}3") for n in (1, 2, 3)]
    log = BANNER + "".join(failed.replace("input_ids", f"ids_{n}") + line for n, line in enumerate(dead)) + GAVE_UP
    diagnosis = diagnose_log(log, knowledge)
    assert diagnosis.job.attempts == 3
    assert "ids_2" in diagnosis.causes[0].title


@pytest.mark.parametrize("between", ["", GAVE_UP])
def test_workers_of_two_nodes_found_dead_are_of_one_attempt(between, knowledge):
    other = FOUND_DEAD.replace("88140", "71207").replace("09:20:43", "09:20:59" if between else "09:20:44")
    assert diagnose_log(BANNER + NO_KEY + FOUND_DEAD + between + other + GAVE_UP, knowledge).job.attempts == 1

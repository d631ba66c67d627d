"""First deaths, and ends that only follow from others."""

from __future__ import annotations

from handmade_records import make_record
from question_probe import Probe

from logdoctor.model import Level, Line, Record, Source, Value
from logdoctor.reasoning.questions.ends import first_death

NO_SOURCE = Source()


class Log:
    """Records in reading order, read by the timeline and the state of a job."""

    def __init__(self) -> None:
        self.probe, self.order = Probe(), 0
        self.observe, self.state = self.probe.observe, self.probe.state

    def add(
        self,
        kind: str,
        text: str = "",
        source: Source = NO_SOURCE,
        level: Level = "fatal",
        file: str = "a",
        **fields: Value,
    ) -> Log:
        self.order += 1
        record = make_record(Line(file, self.order, text), kind, text, source, level, fields, self.order)
        self.observe(record)
        return self

    def raises(self, rank: int, text: str, exception: str = "ValueError", file: str = "a") -> Log:
        return self.add("python.traceback", text, Source(rank=rank), file=file, exception=exception)

    def waits(self, rank: int) -> Log:
        return self.add("c10d.watchdog_timeout", "timed out", Source(rank=rank), "error", seq=9)

    @property
    def first(self) -> Record | None:
        return next(iter(self.probe.ask(first_death)), None)

    def died(self, name: str = "rank") -> Value | None:
        return self.first.fields.get(name) if self.first else None


def test_the_rank_whose_own_error_came_first_died_first() -> None:
    log = Log().raises(2, "ValueError: 7 is not 9").waits(0).waits(1)
    assert (log.died(), log.died("how"), log.died("reporter")) == (2, "ValueError", "itself")


def test_an_abort_after_a_watchdog_time_out_is_no_first_death() -> None:
    log = Log().waits(0).waits(1).add("elastic.failure_summary", rank=0, exit_code=-6, signal=6, host="n1")
    assert log.first is None


def test_an_exit_code_of_a_rank_that_gave_up_waiting_is_no_first_death() -> None:
    log = Log().waits(0).add("elastic.failure_summary", rank=0, exit_code=1, host="n1")
    assert log.first is None


def test_a_kill_that_the_launcher_reports_after_the_others_gave_up_is_the_first_death() -> None:
    log = Log().waits(0).waits(1).add("elastic.failure_summary", rank=3, exit_code=-9, signal=9, host="n1")
    assert (log.died(), log.died("host"), log.died("signal")) == (3, "n1", 9)


def test_workers_that_the_agent_ended_are_fallout() -> None:
    log = Log().add("elastic.sigterm", pid=41, level="warning", signal=15)
    log.add("elastic.worker_failed", pid=41, local_rank=1, exit_code=-9, signal=9)
    assert log.first is None


def test_tasks_killed_after_srun_began_to_end_the_step_are_fallout() -> None:
    log = Log().add("slurm.task_exit", level="error", ranks=(5,), host="n2", signal=11)
    log.add("slurm.stopped", level="error").add("slurm.task_exit", level="error", ranks=(4, 6), host="n2", signal=9)
    log.add("slurm.task_exit", level="error", ranks=(0, 1), host="n1", signal=15)
    assert (log.died(), log.died("host")) == (5, "n2")


def test_a_task_that_ended_before_srun_began_to_end_the_step_died_first() -> None:
    log = Log().add("slurm.task_exit", exit_code=1, ranks=(11,)).add("slurm.stopped")
    log.add("slurm.task_exit", exit_code=1, ranks=(3,)).add("slurm.task_exit", signal=15, ranks=(0, 1))
    assert (log.died(), log.died("exit_code")) == (11, 1)


def test_errors_about_lost_peers_are_no_deaths_of_their_own() -> None:
    assert Log().raises(1, "RuntimeError: Connection closed by peer [10.2.0.4]:4411", "RuntimeError").first is None


def test_exception_of_the_launcher_is_no_wait() -> None:
    raised = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    log = Log().add("python.traceback", raised, exception="ChildFailedError")
    assert log.add("elastic.failure_summary", rank=6, exit_code=1, host="n1").died() == 6


def test_same_error_on_two_ranks_gives_no_first_death() -> None:
    assert Log().raises(1, "ValueError: bad config").raises(0, "ValueError: bad config").first is None


def test_two_files_without_times_give_no_first_death() -> None:
    log = Log().raises(1, "ValueError: a", file="a").raises(0, "KeyError: 'b'", "KeyError", file="b")
    assert log.first is None


def test_killed_pid_is_the_rank_that_printed_it() -> None:
    log = Log().add("nccl.warn", source=Source(rank=5, host="n2", pid=77), level="warning")
    log.add("kernel.oom_kill", source=Source(host="n2"), pid=77)
    assert log.died() == 5


def test_a_crash_and_the_report_of_its_pid_are_one_death() -> None:
    log = Log().add("openmpi.signal", source=Source(host="n2", pid=77), signal=11)
    log.add("openmpi.rank_died", rank=4, host="n2", pid=77, signal=11)
    assert (log.died(), log.died("reporter")) == (4, "itself")


def test_restart_resets_the_deaths() -> None:
    log = Log().raises(2, "ValueError: x").add("elastic.restart", level="error")
    assert log.first is None


def test_restart_in_one_file_keeps_the_deaths_of_another_file() -> None:
    log = Log().raises(2, "ValueError: x", file="rank2.log").add("elastic.restart", level="error", file="agent.log")
    assert log.died() == 2


def test_a_kill_of_a_rank_that_had_given_up_waiting_is_no_first_death() -> None:
    log = Log().waits(0).add("slurm.task_exit", ranks=(0,), host="n1", signal=9)
    assert log.first is None


def test_lines_about_the_same_process_give_its_rank_together() -> None:
    log = Log().add("elastic.worker_failed", pid=90211, local_rank=3, exit_code=-9)
    log.add("elastic.failure_summary", pid=90211, rank=27, exit_code=-9, host="gx03")
    assert (log.died(), log.died("host"), log.died("how")) == (27, "gx03", "signal 9")


def test_killed_rank_beside_a_crashed_rank_is_no_first_death() -> None:
    log = Log().add("mpich.rank_died", rank=3, signal=9).add("mpich.rank_died", rank=1, signal=11)
    assert log.died() == 1


def test_killed_rank_is_the_first_death_if_no_other_rank_crashed() -> None:
    log = Log().add("mpich.rank_died", rank=3, signal=9).add("mpich.rank_died", rank=1, exit_code=1)
    assert log.died() == 3


def test_a_launchers_own_kill_after_it_ended_the_others_is_no_first_death() -> None:
    ended = Log().waits(0).add("lightning.child_died", level="error", pid=21, exit_code=-6, signal=6)
    assert ended.add("crash.signal", "Killed", Source(host="n1"), signal=9).first is None


def test_killed_child_is_the_first_death_if_its_launcher_reports_it_while_ending_the_others() -> None:
    log = Log().add("lightning.child_died", level="error", source=Source(host="n1"), pid=21, exit_code=-9, signal=9)
    assert log.add("crash.signal", "Killed", Source(host="n1"), signal=9).died("host") == "n1"


def test_rank_without_an_exit_notice_of_horovod_died_first() -> None:
    log = Log().add("frameworks.shutdown", "Horovod has been shut down", Source(rank=1), "error")
    log.add("openmpi.exit_code", "the first process", Source(rank=0), rank=0, exit_code=1)
    assert log.died() == 0


def test_rank_with_an_exit_notice_of_horovod_is_no_first_death() -> None:
    log = Log().add("frameworks.shutdown", "Horovod has been shut down", Source(rank=0), "error")
    log.add("openmpi.exit_code", "the first process", Source(rank=0), rank=0, exit_code=1)
    assert log.first is None

"""A failure that several ranks or hosts show is told of all of them, or of nobody, never of the first one heard."""

from __future__ import annotations

START = "W0611 09:14:02.117000 88121 torch/distributed/run.py:792] master"
TRACE = """\
Traceback (most recent call last):
  File "/srv/exp/fit.py", line 40, in <module>
    main()
  File "/srv/exp/fit.py", line 31, in main
    width = table["model"]["width"]
KeyError: 'width'"""
REPORT = """\
E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) \
local_rank: 0 (pid: 4411) of binary: /usr/bin/python3
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
fit.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2024-05-06_10:11:12
  host      : node07
  rank      : 1 (local_rank: 1)
  exitcode  : -15 (pid: 4412)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 4412
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-05-06_10:11:12
  host      : node07
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 4411)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================"""
USING = "{0}:4410:4410 [0] NCCL INFO Bootstrap : Using eth0:{1}<0>"
NO_ANSWER = (
    "{0}: {1}:44{0}0:4533 [{0}] transport/net_ib.cc:1303 NCCL WARN NET/IB : Got completion from peer 10.61.0.4<462{0}3> "
    "with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_{0}"
)
RETRY = (
    "{0}: nodea:44{0}0:4533 [{0}] NCCL INFO socketPollConnect: connect to 10.44.7.12<40311> returned No route to host, "
    "retrying ({1}/35) after sleep for {1}00 msec"
)
GAVE_UP = (
    "{0}: nodea:44{0}0:4533 [{0}] misc/socket.cc:591 NCCL WARN socketPollConnect: connect to 10.44.7.12<40311> returned "
    "No route to host, exceeded error retry count (35)"
)


def test_exception_that_both_ranks_raise_is_of_all(cause_of):
    cause = cause_of(START, TRACE, TRACE, REPORT)
    assert (cause.culprit.scope, cause.culprit.ranks) == ("all", ())
    assert cause.title == "The program raised KeyError: 'width'"


def test_exception_that_is_raised_once_is_of_the_rank_that_the_launcher_names(cause_of):
    assert cause_of(START, TRACE, REPORT).culprit.ranks == (0,)


def test_proof_is_no_line_about_another_process(cause_of):
    texts = [evidence.line.text for evidence in cause_of(START, TRACE, REPORT).evidence]
    assert not any("SIGTERM" in text for text in texts)


def test_exception_and_its_terminate_are_of_one_process(cause_of):
    error = "CUDA error: device-side assert triggered"
    crash = (
        f"RuntimeError: {error}",
        "terminate called after throwing an instance of 'c10::Error'",
        f"  what():  {error}",
    )
    dead = "E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -6) "
    assert cause_of(*crash, f"{dead}local_rank: 1 (pid: 74) of binary: /usr/bin/python3").culprit.ranks == (1,)


def test_senders_that_fail_towards_one_peer_are_all_told(cause_of):
    using = (USING.format("gx01", "10.61.0.4"), USING.format("gx02", "10.61.0.5"), USING.format("gx03", "10.61.0.6"))
    cause = cause_of(*using, NO_ANSWER.format(1, "gx02"), NO_ANSWER.format(2, "gx03"))
    assert cause.title == "RDMA transfer of gx02, gx03 to 10.61.0.4 failed: status 12"
    assert "10.61.0.4 (gx01)" in cause.summary


def test_ranks_that_still_retry_show_what_the_first_to_give_up_shows(cause_of):
    using = (USING.format("nodea", "10.44.7.11"), USING.format("nodeb", "10.44.7.12"))
    retries = [RETRY.format(rank, attempt) for rank in (0, 1, 2) for attempt in (1, 20)]
    cause = cause_of(*using, *retries, GAVE_UP.format(2))
    assert (cause.culprit.ranks, cause.culprit.hosts, cause.culprit.reporters.ranks) == ((), ("nodea",), (0, 1, 2))
    assert cause.summary.startswith("Ranks 0-2 on nodea could not connect to 10.44.7.12:40311 (nodeb)")


def test_pid_of_one_rank_does_not_stand_beside_several(cause_of):
    oom = "[rank{}]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    dead = "E0611 09:20:43.102000 88121 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
    culprit = cause_of(
        oom.format(0), oom.format(1), f"{dead}local_rank: 1 (pid: 74) of binary: /usr/bin/python3"
    ).culprit
    assert (sorted(culprit.ranks), culprit.pids) == ([0, 1], ())


def test_program_and_rank_before_its_own_error_name_the_rank(cause_of):
    full = "stencil: rank {0}: writing out/field.{0}.bin failed: No space left on device"
    assert cause_of("step 20", full.format(0), full.format(3)).culprit.ranks == (0, 3)


def test_process_that_names_itself_in_a_mismatch_is_not_accused(cause_of):
    warn = "nodeb:51{0}0:5120 [{0}] init.cu:11 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank {0}."
    assert cause_of(warn.format(5), warn.format(6)).culprit.ranks == ()


def test_two_versions_that_differ_accuse_neither_rank(cause_of):
    line = "nodeq:31:35 [0] init.cc:10 NCCL WARN Mismatched NCCL version detected : rank 0 version 22105 rank 9 version 22304"
    cause = cause_of(line)
    assert (cause.title, cause.culprit.ranks) == ("Rank 0 uses NCCL 22105, rank 9 uses 22304", ())


def test_receiver_that_was_not_ready_is_blamed_and_not_the_sender(cause_of):
    sent = NO_ANSWER.format(1, "gx02").replace("status=12", "status=13")
    assert cause_of(USING.format("gx01", "10.61.0.4"), USING.format("gx02", "10.61.0.5"), sent).culprit.hosts == (
        "gx01",
    )


def test_chain_of_waits_tells_who_is_waited_for_and_does_not_wait(cause_of):
    wait = "NCCL EP timeout for combine receive, rank {}, local_expert_idx 2, src_rank {}"
    assert (
        "Rank 1 is waited for, and no line shows it waiting." in cause_of(wait.format(2, 0), wait.format(0, 1)).summary
    )

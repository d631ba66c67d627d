"""Prefixes of launchers, collectors and loggers are stripped and give the source."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor import logs
from logdoctor.logs import prefix_stripping
from logdoctor.logs.line_parser import read_message
from logdoctor.logs.split_joined import split_line
from logdoctor.model import Source

MESSAGE = "lost touch with the store"
MOMENT = 1730110418.0
"""2024-10-28 10:13:38 UTC"""
NO_YEAR = 25956818.0
"""28 October 10:13:38 of 1970."""


def strip(line: str) -> tuple[str, dict[str, object]]:
    message = read_message(line)
    labels = {name: getattr(message.source, name) for name in Source.__slots__}
    return message.text, {name: value for name, value in labels.items() if value is not None}


LAUNCHERS = [
    ("[rank3]: ", {"rank": 3}),
    ("[rank3]:", {"rank": 3}),
    ("[rank12] ", {"rank": 12}),
    ("[rank: 3] ", {"rank": 3}),
    ("[Rank 3] ", {"rank": 3}),
    ("[RANK 3] ", {"rank": 3}),
    ("[rank=3] ", {"rank": 3}),
    ("[default3]:", {"local_rank": 3}),
    ("[trainer0]:", {"local_rank": 0}),
    ("3: ", {"rank": 3}),
    (" 3: ", {"rank": 3}),
    ("117: ", {"rank": 117}),
    ("P1  3: ", {"tag": "1  3"}),
    ("[1,3]<stdout>:", {"rank": 3}),
    ("[1,3]<stderr>: ", {"rank": 3}),
    ("[1,3][cn-07:4411]<stderr>: ", {"rank": 3, "host": "cn-07", "pid": 4411}),
    ("[prterun-cn07-4411@1,3]<stdout>: ", {"rank": 3}),
    ("[3]<stdout>: ", {"rank": 3}),
    ("[1,mpirank:3,algo-2]<stdout>:", {"rank": 3, "host": "algo-2"}),
    ("[3] ", {"rank": 3}),
    ("Mon Oct 28 10:13:38 2024[1,3]<stdout>:", {"rank": 3, "time": MOMENT}),
    ("(TrainWorker pid=4411, ip=10.3.0.7) ", {"tag": "TrainWorker", "pid": 4411, "host": "10.3.0.7"}),
    ("(TrainWorker pid=4411) ", {"tag": "TrainWorker", "pid": 4411}),
    ("(pid=4411) ", {"pid": 4411}),
    ("(raylet) ", {"tag": "raylet"}),
    ("(VllmWorker rank=1 pid=534) ", {"tag": "VllmWorker", "rank": 1, "pid": 534}),
    ("(raylet, ip=10.3.0.7) ", {"tag": "raylet", "host": "10.3.0.7"}),
    ("(EngineCore_DP0 pid=99) ", {"tag": "EngineCore_DP0", "pid": 99}),
    ("(Worker_TP3 pid=12) ", {"tag": "Worker_TP3", "pid": 12, "rank": 3}),
    ("(Worker_DP0_TP1_EP1 pid=12) ", {"tag": "Worker_DP0_TP1_EP1", "pid": 12, "rank": 1}),
    ("(Worker_PP1_TP1 pid=12) ", {"tag": "Worker_PP1_TP1", "pid": 12}),
    ("localhost: [rank3]: ", {"tag": "localhost", "rank": 3}),
    ("llama-sft-worker-3 pytorch [rank3]: ", {"host": "llama-sft-worker-3", "rank": 3}),
    ("vllm-decode-7c9f8d6b5-x2vkq main [rank3]: ", {"host": "vllm-decode-7c9f8d6b5-x2vkq", "rank": 3}),
    ("cn07: ", {"host": "cn07"}),
    ("worker-3: ", {"host": "worker-3"}),
    ("10.3.0.7: ", {"host": "10.3.0.7"}),
    ("ip-10-3-0-7.region.internal: ", {"host": "ip-10-3-0-7.region.internal"}),
    ("x1003c0s7b0n1 12: ", {"host": "x1003c0s7b0n1", "rank": 12}),
    ("INFO: [rank: 3] ", {"rank": 3, "level": "info"}),
    ("[dlc1abc58q0821ib-worker-2] [rank3]: ", {"rank": 3, "host": "dlc1abc58q0821ib-worker-2"}),
    ("[gpu-b07:3]:", {"host": "gpu-b07", "local_rank": 3}),
    ("(worker1, rank=1, ip=10.3.0.7) ", {"tag": "worker1", "host": "10.3.0.7"}),
    ("(worker1, rank=1, pid=4411, ip=10.3.0.7) ", {"tag": "worker1", "host": "10.3.0.7", "pid": 4411}),
    ("2024-10-28 10:13:38 10.3.0.7 [12] ", {"time": MOMENT, "host": "10.3.0.7", "tag": "12"}),
    ("[trainer10|2]:", {"rank": 10, "local_rank": 2}),
    ("[group/10|2]:", {"rank": 10, "local_rank": 2}),
    ("[default-2:10]:", {"rank": 10, "local_rank": 2}),
    ("[rank10-group_rank1-attempt0]:", {"rank": 10}),
]

COLLECTORS = [
    ("[pod/train-worker-0/pytorch] ", {"host": "train-worker-0"}),
    ("2024-10-28T10:13:38.000000000Z stderr F ", {"time": MOMENT}),
    ("2024-10-28T10:13:38.000000000Z ", {"time": MOMENT}),
    ("trainer_1  | ", {"tag": "trainer_1"}),
    ("trainer-1 | ", {"tag": "trainer-1"}),
    ("[2024-10-28T10:13:38.5Z] 7be0a4c1 [rank=5] || ", {"time": MOMENT + 0.5, "tag": "7be0a4c1", "rank": 5}),
    ("7be0a4c1 || ", {"tag": "7be0a4c1"}),
    (
        "<error> [2024-10-28 10:13:38] [7be0a4c1] [rank=5] || ",
        {"time": MOMENT, "tag": "7be0a4c1", "rank": 5, "level": "error"},
    ),
    ("<>        [2024-10-28 10:13:38] 7be0a4c1 || ", {"time": MOMENT, "tag": "7be0a4c1"}),
    ("Oct 28 10:13:38 cn07 kernel: ", {"time": NO_YEAR, "host": "cn07", "logger": "kernel"}),
    ("Oct 28 10:13:38 cn07 kernel: [ 812.110042] ", {"time": NO_YEAR, "host": "cn07", "logger": "kernel"}),
    ("Oct 28 10:13:38 cn07 train[4411]: ", {"time": NO_YEAR, "host": "cn07", "logger": "train", "pid": 4411}),
    ("2024-10-28T10:13:38.0+00:00 cn07 kernel: ", {"time": MOMENT, "host": "cn07", "logger": "kernel"}),
    ("<12>1 2024-10-28T10:13:38Z cn07 app 4411 - - ", {"time": MOMENT, "host": "cn07", "logger": "app", "pid": 4411}),
    ("kern  :err   : [Mon Oct 28 10:13:38 2024] ", {"time": MOMENT, "level": "error"}),
    ("<3>[  812.110042] ", {}),
    ("[  812.110042][  T911] ", {}),
    ("logs/rank_5.log:12:", {"rank": 5}),
    ("job.out:", {}),
    ("> ", {}),
    ("> > ", {}),
    (" |  | 2024-10-28 10:13:38 | ", {"time": MOMENT}),
    ("\t[rank3]: ", {"rank": 3}),
    ("2024-10-28T10:13:38.000000Z 01O ", {"time": MOMENT}),
    ("2024-10-28T10:13:38.000000Z 00E+", {"time": MOMENT}),
    ("ERROR\t2024-10-28 10:13:38 +0000\tworkerpool1-0\t", {"time": MOMENT, "tag": "workerpool1-0"}),
    ("[2024-10-28, 10:13:38 UTC] {subprocess.py:93} INFO - ", {"time": MOMENT}),
    (
        "[2024-10-28T10:13:38.000+0000] {taskinstance.py:1400} ERROR - ",
        {"time": MOMENT, "level": "error", "logger": "taskinstance.py:1400"},
    ),
    ("2024-10-28 10:13:38.000 [17/fit/42 (pid 4411)] ", {"time": MOMENT}),
    ("2024-10-28T10:13:38.000000+00:00 algo-2-1730110000 ", {"time": MOMENT, "tag": "algo-2"}),
    ("2024-10-28T10:13:38Z fit/default/0a1b2c3d4e5f60718293a4b5c6d7e8f9 ", {"time": MOMENT}),
    ("1730110418000,", {"time": MOMENT}),
    ("    [2024-10-28 10:13:38] ", {"time": MOMENT}),
]

STAMPS = [
    ("2024-10-28 10:13:38 ", {"time": MOMENT}),
    ("2024-10-28 10:13:38,250 ", {"time": MOMENT + 0.25}),
    ("[2024-10-28 10:13:38.250] ", {"time": MOMENT + 0.25}),
    ("2024-10-28T12:13:38+02:00 ", {"time": MOMENT}),
    ("2024/10/28 10:13:38 ", {"time": MOMENT}),
    ("10/28/2024 10:13:38 ", {"time": MOMENT}),
    ("24/10/28 10:13:38 ", {"time": MOMENT}),
    ("[10/28 10:13:38] ", {"time": NO_YEAR}),
    ("Mon Oct 28 10:13:38 2024 ", {"time": MOMENT}),
    ("[Mon Oct 28 10:13:38 2024] ", {"time": MOMENT}),
    ("[1730110418.500] ", {"time": MOMENT + 0.5}),
    ("[10:13:38] ", {}),
    ("10:13:38,120 ", {}),
    ("[2024-10-28 10:13:38 DP1 TP3 EP3] ", {"time": MOMENT, "tag": "DP1 TP3 EP3", "rank": 3}),
    ("[2024-10-28 10:13:38 PP1 TP3] ", {"time": MOMENT, "tag": "PP1 TP3"}),
    ("[2024-10-28 10:13:38 PP0 TP3] ", {"time": MOMENT, "tag": "PP0 TP3", "rank": 3}),
    ("2024-10-28 10:13:38 ERROR ", {"time": MOMENT, "level": "error"}),
    ("2024-10-28 10:13:38 [WARNING] ", {"time": MOMENT, "level": "warning"}),
]

LOGGERS = [
    ("[E store.cpp:58] ", {"level": "error", "logger": "store.cpp:58"}),
    ("[F1028 10:13:38.955775341 store.cpp:58] ", {"level": "fatal", "logger": "store.cpp:58", "time": NO_YEAR}),
    ("E1028 10:13:38.250000 4411 store.cpp:58] ", {"level": "error", "logger": "store.cpp:58", "time": NO_YEAR + 0.25}),
    ("W1028 10:13:38.250000 139912 a/api.py:8] ", {"level": "warning", "logger": "a/api.py:8", "time": NO_YEAR + 0.25}),
    ("[2024-10-28 10:13:38,000] a.agent: [ERROR] ", {"level": "error", "logger": "a.agent", "time": MOMENT}),
    ("2024-10-28 10:13:38,000 - trainer - ERROR - ", {"level": "error", "logger": "trainer", "time": MOMENT}),
    ("10/28/2024 10:13:38 - INFO - app.data - ", {"level": "info", "logger": "app.data", "time": MOMENT}),
    ("ERROR:root:", {"level": "error", "logger": "root"}),
    ("ERROR    a.b.run:train.py:224 ", {"level": "error", "logger": "a.b.run:train.py:224"}),
    ("2024-10-28 10:13:38 | ERROR | stderr | ", {"time": MOMENT}),
    ("INFO:2024-10-28 10:13:38,000:a._b.c:925: ", {"level": "info", "logger": "a._b.c:925", "time": MOMENT}),
    ("ERROR:2024-10-28 10:13:38,000:", {"level": "error", "time": MOMENT}),
    ("[ERROR] ", {"level": "error"}),
    ("ERROR 10-28 10:13:38 worker.py:12] ", {"level": "error", "logger": "worker.py:12", "time": NO_YEAR}),
    ("ERROR 10-28 10:13:38 [worker.py:12] ", {"level": "error", "logger": "worker.py:12", "time": NO_YEAR}),
    (
        "[WARNING|trainer.py:8] 2024-10-28 10:13:38,000 >> ",
        {"level": "warning", "logger": "trainer.py:8", "time": MOMENT},
    ),
    ("2024-10-28 10:13:38.000 | ERROR    | a.b:run:8 - ", {"level": "error", "logger": "a.b:run:8", "time": MOMENT}),
    (
        "[2024-10-28 10:13:38,000] [INFO] [launch.py:8:main] ",
        {"level": "info", "logger": "launch.py:8", "time": MOMENT},
    ),
    ("[2024-10-28 10:13:38,000][a.b][ERROR] - ", {"level": "error", "logger": "a.b", "time": MOMENT}),
    (
        "[2024-10-28 10:13:38] ERROR    [a.b:8, rank=3] ",
        {"level": "error", "logger": "a.b:8", "time": MOMENT, "local_rank": 3},
    ),
    ("[10/28/2024-10:13:38] [TRT-LLM] [RANK 3] [E] ", {"level": "error", "rank": 3}),
    ("[TRT-LLM] [W] ", {"level": "warning"}),
    (
        "[2024-10-28 10:13:38,000 WARNING train.py line 231 40711] ",
        {"time": MOMENT, "level": "warning", "logger": "train.py", "pid": 40711},
    ),
    ("[NeMo W 2024-10-28 10:13:38 log:8] ", {"level": "warning", "logger": "log:8", "time": MOMENT}),
    ("2024-10-28:10:13:38,000 INFO     [a.py:8] ", {"level": "info", "logger": "a.py:8", "time": MOMENT}),
    ("[10:13:38] WARNING  ", {"level": "warning"}),
    ("2024-10-28 10:13:38.000000: E a/b.cc:8] ", {"level": "error", "logger": "a/b.cc:8", "time": MOMENT}),
    (
        "[2024-10-28 10:13:38.000000: E a/b.cc:8] [3]: ",
        {"level": "error", "logger": "a/b.cc:8", "time": MOMENT, "rank": 3},
    ),
    (
        "[2024-10-28 10:13:38,000 C 4411 4411] (raylet) node.cc:8: ",
        {"level": "fatal", "logger": "node.cc:8", "time": MOMENT, "pid": 4411, "tag": "raylet"},
    ),
    (
        "2024-10-28 10:13:38,000: rank3[4411][MainThread]: ERROR: a.b.c: ",
        {"level": "error", "logger": "a.b.c", "time": MOMENT, "rank": 3, "pid": 4411},
    ),
]


@pytest.mark.parametrize(("prefix", "source"), [*LAUNCHERS, *COLLECTORS, *STAMPS, *LOGGERS])
def test_prefix_is_stripped_and_gives_the_source(prefix, source):
    assert strip(prefix + MESSAGE) == (MESSAGE, pytest.approx(source))


@pytest.mark.parametrize("prefix", [p for p, _ in (*LAUNCHERS, *STAMPS[:8])])
def test_the_indentation_of_the_message_stays(prefix):
    if prefix != "[rank3]:":  # there a blank always follows
        assert strip(f"{prefix}  File")[0] == "  File"


@pytest.mark.parametrize(
    ("line", "text", "source"),
    [
        ("[7]terminate called after throwing", "terminate called after throwing", {"rank": 7}),
        ("12: [rank12]: gone", "gone", {"rank": 12}),
        ("[default3]:[rank11]:[E store.cpp:58] gone", "gone", {"rank": 11, "local_rank": 3}),
        ("(W pid=1, ip=10.0.0.3) [rank3]: gone", "gone", {"rank": 3, "pid": 1, "host": "10.0.0.3"}),
        ("[1,3]<stderr>:cn7:81:99 [3] NCCL WARN gone", "cn7:81:99 [3] NCCL WARN gone", {"rank": 3}),
        ("cn7: cn7:81:99 [3] NCCL WARN gone", "cn7:81:99 [3] NCCL WARN gone", {"host": "cn7"}),
        ("[E store.cpp:5] [Rank 1] gone", "[Rank 1] gone", {"level": "error"}),
        ("[rank5]: [Rank 1] gone", "[Rank 1] gone", {"rank": 5}),
        ("sft.trainer/1 [rank9]: gone", "gone", {"rank": 9, "tag": "sft.trainer/1"}),
        ("sft.trainer/1 lib.GoneError: gone", "lib.GoneError: gone", {"tag": "sft.trainer/1"}),
        ("sft.trainer/1             ^^^^^^", "            ^^^^^^", {"tag": "sft.trainer/1"}),
        ("    | lib.GoneError: gone", "lib.GoneError: gone", {}),
        ('    |   File "/srv/app.py", line 3, in go', '  File "/srv/app.py", line 3, in go', {}),
        (
            "  + Exception Group Traceback (most recent call last):",
            "Exception Group Traceback (most recent call last):",
            {},
        ),
        ("# [rank3]: gone", "gone", {"rank": 3}),
        ("# GoneError: gone", "GoneError: gone", {}),
    ],
)
def test_prefixes_nest(line, text, source):
    stripped = strip(line)
    assert stripped[0] == text
    assert source.items() <= stripped[1].items()


def test_innermost_rank_and_outermost_time_win():
    text, source = strip("2024-10-28T10:13:38Z 1: [rank9]:[E1028 11:00:00.111111111 store.cpp:5] gone")
    assert (text, source["rank"], source["time"]) == ("gone", 9, MOMENT)


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: gone",
        "torch.OutOfMemoryError: CUDA out of memory",
        "srun: error: cn07: task 3: Killed",
        "slurmstepd: error: Detected 1 oom_kill event",
        "INFO: all is well",
        "Error: gone",
        "mlx5_0: link is down",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal",
        "eth0: Link is Down",
        "acc1: 0.76",
        "loss2: nan",
        "/srv/app.py:12: UserWarning: gone",
        "app.py:12: UserWarning: gone",
        "[0] MPI startup(): Intel(R) MPI Library",
        "[1]+ Killed python train.py",
        "[cn07:04411] *** Process received signal ***",
        "cn07:4411:4420 [3] NCCL WARN gone",
        "train.log: No such file or directory",
        "flow3d.x: wrote 12 files",
        "cutter7: /src/mesh/cut.cc:88: bool mesh::cut(int): Assertion `n > 0' failed.",
        "slurmstepd-cn07: error: execve(): ./solve: No such file or directory",
        ">>> import torch",
        '{"loss": 2.5, "step": 10}',
        '{"message": "hello"}',
        "{'loss': 2.5, 'epoch': 0.1}",
        "12 errors",
        "10%|#    | 3/30 [02:49<1:32:39,  2.78s/it]",
        "epoch | loss",
        "   0: 0x7f3c1200 - std::panicking",
        "  | Error | count |",
        "  |     5 | 0.2 |",
        "#    size         count      type   redop    root     time",
        "# Errors are counted below",
        "train/3 of 8 folds are done",
    ],
)
def test_text_that_only_looks_like_a_prefix_stays(line):
    assert strip(line) == (line, {})


@pytest.mark.parametrize("program", ["slurmstepd", "systemd", "nv-fabricmanager"])
def test_syslog_message_of_a_daemon_keeps_the_program_name(program):
    text, source = strip(f"Oct 28 10:13:38 cn07 {program}[812]: error: gone")
    assert text == f"{program}[812]: error: gone"
    assert (source["logger"], source["pid"], source["host"]) == (program, 812, "cn07")


def test_child_index_of_lightning_is_a_local_rank():
    assert strip("[rank: 2] Child process with PID 81 terminated with code 1.")[1] == {"local_rank": 2}


def test_repetition_count_of_ray_is_removed():
    assert strip("(W pid=1) gone [repeated 6x across cluster]")[0] == "gone"


def test_a_docker_record_gives_message_and_time():
    line = json.dumps({"log": "[rank1]: gone\n", "stream": "stderr", "time": "2024-10-28T10:13:38.5Z"})
    assert strip(line) == ("gone", {"rank": 1, "time": MOMENT + 0.5})


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('"the \\"inner\\" store\\n",', 'the "inner" store'),
        ('"the ""inner"" store"', 'the "inner" store'),
        ("    'the \\'inner\\' store\\n',", "the 'inner' store"),
        ("`the store`", "the store"),
        ("'a' and 'b'", "'a' and 'b'"),
        ('fit.gpu: {"log":"the store\\n","stream":"stderr"}', "the store"),
        ('{"line":"the store","timestamp":"1730110418000000000"},', "the store"),
        ('loss: {"fit": 2.5, "eval": 2.6}', 'loss: {"fit": 2.5, "eval": 2.6}'),
    ],
)
def test_line_quoted_by_an_export_is_unquoted(line, text):
    assert strip(line)[0] == text


@pytest.mark.parametrize("head", ["-- Process 2 terminated", "--> FOAM FATAL ERROR:", "  -- indented"])
def test_a_stamp_does_not_take_dashes_that_a_program_prints(head):
    assert strip(f"2024-10-28 10:13:38 {head}")[0] == head
    assert strip("2024-10-28 10:13:38 -- gone")[0] == "gone"


def test_level_word_behind_a_stamp_stays_in_a_variant():
    (piece,) = split_line("2024-10-28T10:13:38Z FATAL:  the store is gone")
    assert [text for text, _ in piece.variants()][:2] == [" the store is gone", "FATAL:  the store is gone"]


def test_traceback_in_a_structured_log_of_ray_is_read_with_its_process():
    stack = "Traceback (most recent call last):\n  File \"/srv/vole/fit.py\", line 8, in step\nKeyError: 'w3'"
    line = json.dumps(
        {"asctime": "2026-05-11 08:12:40,511", "message": "step failed", "process": 611, "exc_text": stack}
    )
    pieces = split_line(line + " [repeated 3x across cluster] (Ray deduplicates logs by default.)")
    assert [piece.text for piece in pieces] == ["step failed", *stack.split("\n")]
    assert {piece.labels["pid"] for piece in pieces} == {611}


def test_record_joined_inside_a_json_message_is_a_piece_of_its_own():
    line = '{"log":"100%|##| 4/4 [00:02<00:00,  1.9it/s][default2]:[E store.cpp:5] gone\\n","stream":"stderr"}'
    first, second = split_line(line)
    assert first.text.endswith("1.9it/s]")
    assert (second.text, second.labels["local_rank"]) == ("gone", "2")


def test_a_journal_record_gives_message_host_and_level():
    fields = {"MESSAGE": "NVRM: gone", "_HOSTNAME": "cn07", "SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "4"}
    line = json.dumps({**fields, "__REALTIME_TIMESTAMP": "1730110418000000"})
    assert strip(line) == ("NVRM: gone", {"host": "cn07", "logger": "kernel", "level": "warning", "time": MOMENT})


def test_journal_message_as_bytes_is_decoded():
    line = json.dumps({"MESSAGE": list(b"gone \xff"), "_HOSTNAME": "cn07"})
    assert strip(line) == ("gone \ufffd", {"host": "cn07"})


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"level": "error", "message": MESSAGE}, {"level": "error"}),
        ({"severity": "CRITICAL", "msg": MESSAGE, "rank": 3}, {"level": "fatal", "rank": 3}),
        ({"levelno": 40, "level": 40, "text": MESSAGE, "process": 71}, {"level": "error", "pid": 71}),
        ({"ts": 1730110418.0, "msg": MESSAGE, "logger": "a.b"}, {"time": MOMENT, "logger": "a.b"}),
        (
            {"level": "ERROR", "fields": {"message": MESSAGE}, "target": "launcher", "span": {"rank": 2, "name": "s"}},
            {"level": "error", "rank": 2},
        ),
        ({"log": MESSAGE, "stream": "stderr", "kubernetes": {"pod_name": "w-0"}}, {"tag": "w-0"}),
        (
            {"message": MESSAGE, "timestamp": "2024-10-28T10:13:38Z", "hostname": "cn07"},
            {"time": MOMENT, "host": "cn07"},
        ),
    ],
)
def test_json_loggers_are_read(fields, source):
    assert strip(json.dumps(fields)) == (MESSAGE, source)


@pytest.mark.parametrize(("head", "tail"), [("[", ""), (",", ""), (",", "]"), ("", ""), ("[", "]")])
def test_the_log_of_a_notebook_on_kaggle_is_read(head, tail):
    line = json.dumps({"stream_name": "stderr", "time": 114.62, "data": "[rank1]: gone\n"}, separators=(",", ":"))
    assert strip(head + line + tail) == ("gone", {"rank": 1})


def test_logfmt_is_read():
    line = f'time="2024-10-28T10:13:38Z" level=error msg="{MESSAGE}" pod=w-0'
    assert strip(line) == (f"{MESSAGE} pod=w-0", {"time": MOMENT, "level": "error"})


@pytest.mark.parametrize(
    "quoted",
    [
        r'message: "Error. \nTraceback (most recent call last):\n  File \"/opt/fit.py\", line 3\nKeyError: 7\n"',
        r"""failed: \n['Traceback (most recent call last):\n', '  File "/opt/fit.py", line 3\n', 'KeyError: 7\n']""",
    ],
)
def test_a_traceback_that_a_service_quotes_in_one_line_is_read_as_its_lines(quoted):
    lines = [piece.text for piece in split_line(quoted)]
    assert [lines[1].lstrip("['"), *lines[2:4]] == [
        "Traceback (most recent call last):",
        '  File "/opt/fit.py", line 3',
        "KeyError: 7",
    ]


@pytest.mark.parametrize(
    "line", ['{"message": "a"', '{"message": {"a": 1}, "level": "x"}', '{"a": ' * 9000 + "}", "{}"]
)
def test_broken_json_is_left_as_it_is(line):
    assert strip(line)[0] == line


COMPOSED = [p for p, _ in (*LAUNCHERS[:2], *LAUNCHERS[9:12], *LAUNCHERS[13:18], *LAUNCHERS[21:28], *COLLECTORS[:3])]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(COMPOSED), max_size=5, unique=True), st.booleans())
def test_message_is_found_below_prefixes_in_any_order(prefixes, logged):
    tasks = [p for p in prefixes if p.strip()[0].isdigit() and p.strip().endswith(":")]
    line = "".join([*tasks[:1], *(p for p in prefixes if p not in tasks), "ERROR:root:" * logged, MESSAGE])
    assert strip(line)[0] == MESSAGE


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_stripped_without_an_exception(text):
    assert isinstance(read_message(text).text, str)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_pieces_of_prefixes_in_any_order_never_raise_or_hang(data):
    parts = [p for p, _ in (*LAUNCHERS, *COLLECTORS, *STAMPS, *LOGGERS)]
    cut = st.sampled_from(parts).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n]))
    read_message("".join(data.draw(st.lists(cut, max_size=8))))


def test_stripping_stops_at_a_bound():
    stripped = read_message("[rank1]: " * 40 + MESSAGE)
    assert stripped.text.count("[rank1]") == 40 - prefix_stripping.MAX_LAYERS


@pytest.mark.parametrize("unit", ["[", "3: ", "a.b-", "2024-10-28 ", '{"', "(a pid=", "x1:", "[rank", "\x1b[", "a=b "])
def test_a_long_hostile_line_is_quick(unit):
    import time

    line = (unit * 20_000)[:16_384]
    start = time.process_time()
    read_message(line)
    assert time.process_time() - start < 0.5


def test_each_prefix_lists_its_first_characters():
    rng = random.Random(7)
    for prefix, _ in rng.sample([*LAUNCHERS, *COLLECTORS, *STAMPS, *LOGGERS], 40):
        line = prefix + MESSAGE
        tried = {w.name for w in prefix_stripping._prefixes_for(line[0]).prefixes}
        matching = {
            w.name for w in logs.prefixes() if (hit := prefix_stripping.compiled(w.pattern).match(line)) and hit.end()
        }
        assert matching <= tried


@pytest.mark.parametrize(
    "line", ["gpu-1 was reset by its driver", "step-100 main loop entered", "phase-2 job done", "cuda-12 pytorch"]
)
def test_two_words_of_a_sentence_are_no_pod_and_container(line):
    assert strip(line)[0] == line


@pytest.mark.parametrize(
    "line",
    [
        "[1]    12576 segmentation fault (core dumped)  ./all_reduce_perf",
        "[1]  + 12576 killed     python train.py",
        "[2]   8123 Segmentation fault      (core dumped) ./a.out",
        "[1]    12576 done       ./a.out",
    ],
)
def test_the_number_of_a_job_of_the_shell_is_no_rank(line):
    assert strip(line) == (line, {})


@pytest.mark.parametrize(
    ("escaped", "text"), [(r"\ud83d\ude00", "\U0001f600"), (r"\uD83D gone", "\ufffd gone"), (r"\\ud83d", r"\ud83d")]
)
def test_json_surrogate_halves_are_joined_or_replaced(escaped, text):
    for line in (f'{{"log": "{escaped}", "stream": "stderr"}}', f'"{escaped}"'):
        assert strip(line)[0].strip('"') == text

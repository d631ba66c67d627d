from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs import parse_text
from logdoctor.logs.signals import signal_number
from logdoctor.model import Source

RECORDS = records("python")

PLAIN = """\
Traceback (most recent call last):
  File "/srv/job/fit.py", line 88, in <module>
    main(cfg)
    ~~~~^^^^^
  File "/srv/env/lib/python3.12/site-packages/torch/utils/data/dataloader.py", line 701, in __next__
    data = self._next_data()
KeyError: 'pixel_values'"""


def test_a_traceback_is_one_event_whose_text_is_its_exception():
    record = read_record(RECORDS, PLAIN)
    assert (record.kind, record.level, record.text) == ("python.traceback", "fatal", "KeyError: 'pixel_values'")
    assert record.fields["exception"] == "KeyError"
    assert record.fields["where"] == "dataloader.py:701 in __next__"
    assert record.fields["frames"] == "srv/job/fit.py:<module> > torch/utils/data/dataloader.py:__next__"


def test_the_further_lines_of_a_message_belong_to_it():
    text = PLAIN.replace(
        "KeyError: 'pixel_values'",
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
        "CUDA kernel errors might be asynchronously reported at some other API call.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n\n"
        "2031-02-03 10:11:12 something else",
    )
    record = read_record(RECORDS, text)
    assert record.text.count("\n") == 3
    assert "something else" not in record.text


def test_a_message_ends_at_the_line_of_another_record():
    assert (
        read_record(RECORDS, "ValueError: bad split\n 10%|#  | 1/10 [00:01<00:09,  1.00s/it]").text
        == "ValueError: bad split"
    )


def test_a_workers_own_traceback_inside_a_message_is_part_of_it():
    text = (
        PLAIN.replace("KeyError: 'pixel_values'", "IndexError: Caught IndexError in DataLoader worker process 3.")
        + "\nOriginal Traceback (most recent call last):\n"
        + '  File "/srv/job/sets.py", line 12, in __getitem__\n    return self.rows[i]\n'
        + "IndexError: list index out of range\n"
    )
    record = read_record(RECORDS, text)
    assert record.fields["worker"] == 3
    assert record.fields["where"] == "sets.py:12 in __getitem__"
    assert record.text.endswith("IndexError: list index out of range")


def test_an_old_loaders_worker_sent_its_traceback_as_the_message():
    text = (
        PLAIN.replace("KeyError: 'pixel_values'", "OSError: Traceback (most recent call last):")
        + '\n  File "/srv/job/sets.py", line 12, in __getitem__\n    return self.rows[i]\n'
        + "OSError: [Errno 28] No space left on device\n"
    )
    record = read_record(RECORDS, text)
    assert (record.fields["exception"], record.fields["errno"]) == ("OSError", 28)
    assert record.fields["message"] == "[Errno 28] No space left on device"
    assert record.fields["where"] == "sets.py:12 in __getitem__"


def test_ray_task_error_without_a_message_has_no_message():
    head = "ray.exceptions.RayTaskError(NotImplementedError): ray::main_task() (pid=19443, ip=172.17.0.4)"
    text = PLAIN.replace("KeyError: 'pixel_values'", head)
    record = read_record(
        RECORDS,
        f'{text}\n  File "/srv/score.py", line 37, in score\n    raise NotImplementedError\nNotImplementedError\n',
    )
    assert (record.fields["exception"], record.fields.get("message")) == ("NotImplementedError", None)


def test_a_spawned_process_names_its_index_and_its_own_exception():
    record = read_record(
        RECORDS,
        PLAIN.replace("KeyError: 'pixel_values'", "torch.multiprocessing.spawn.ProcessRaisedException: ")
        + "\n\n-- Process 5 terminated with the following error:\n"
        + PLAIN,
    )
    assert (record.fields["local_rank"], record.fields["exception"], record.fields["inner"]) == (
        5,
        "KeyError",
        "KeyError",
    )
    assert "KeyError: 'pixel_values'" in record.text


def test_exception_of_a_spawned_process_behind_pytest_marks_is_read():
    message = f"torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 5 terminated with the following error:\n{PLAIN}"
    records = [e for e in parse_text("".join(f"E           {line}\n" for line in message.splitlines())) if e.failing]
    assert [(e.kind, e.fields["local_rank"], e.fields["exception"]) for e in records] == [
        ("python.traceback", 5, "KeyError")
    ]


def test_exception_inside_ray_task_error_is_the_exception():
    text = PLAIN.replace(
        "KeyError: 'pixel_values'", "ray.exceptions.RayTaskError(ValueError): ray::Roll.step() (pid=91)"
    )
    record = read_record(
        RECORDS, text + '\n  File "/srv/job/roll.py", line 7, in step\n    raise\nValueError: empty batch'
    )
    assert (record.fields["exception"], record.fields["message"]) == ("ValueError", "empty batch")
    assert record.fields["where"] == "roll.py:7 in step"


def test_cut_traceback_of_an_excepthook_is_an_error():
    record = read_record(RECORDS, "Error in sys.excepthook:\n" + PLAIN.rpartition("\n")[0])
    assert (record.level, record.fields["caught"]) == ("error", 1)
    assert read_record(RECORDS, f"Error in sys.excepthook:\n{PLAIN}").level == "warning"


def test_an_ignored_exception_without_traceback_is_a_warning():
    record = read_record(
        RECORDS, "Exception ignored in: <generator object f at 0x1>\nRuntimeError: generator ignored GeneratorExit"
    )
    assert (record.level, record.fields["exception"]) == ("warning", "RuntimeError")


def test_a_thread_or_child_process_is_named():
    assert read_record(RECORDS, f"Exception in thread Thread-9 (_pin):\n{PLAIN}").fields["thread"] == "Thread-9 (_pin)"
    child = read_record(RECORDS, f"Process SpawnProcess-2:1:\n{PLAIN}")
    assert (child.fields["process"], child.level) == ("SpawnProcess-2:1", "fatal")


def test_a_traceback_without_its_end_is_an_error_without_a_type():
    record = read_record(RECORDS, "\n".join(PLAIN.splitlines()[:-1]))
    assert (record.kind, record.level, record.fields["exception"]) == ("python.traceback", "error", "")


def test_a_logged_traceback_has_the_level_of_its_log_line():
    assert read_record(RECORDS, PLAIN, Source(level="error")).level == "error"
    logged = read_record(RECORDS, PLAIN, Source(level="warning"))
    assert (logged.level, logged.fields["caught"]) == ("warning", 1)


def test_collector_level_does_not_change_a_traceback_without_frames():
    collector = Source(level="info")
    assert read(RECORDS, "Traceback (most recent call last):\nKeyError: 'mask'", collector)[0].level == "fatal"


def test_a_traceback_that_a_launchers_logger_passes_on_line_by_line_is_uncaught():
    assert read_record(RECORDS, PLAIN, Source(level="info", logger="runner")).level == "fatal"
    own = read_record(RECORDS, PLAIN, Source(level="info", logger="torch/_dynamo/convert_frame.py:88"))
    assert (own.level, own.fields["caught"]) == ("warning", 1)


def test_a_traceback_that_a_service_put_on_one_line_has_its_frames_and_its_exception():
    record = read_record(
        RECORDS,
        'ExecuteUserScriptError: Command "python -m go" Traceback (most recent call last): File "/opt/ml/code/go.py", '
        'line 42, in <module> raise KeyError(name) File "/opt/ml/code/table.py", line 7, in find raise '
        "KeyError(name) KeyError: 'zebra'",
    )
    assert (record.level, record.text, record.fields["where"]) == ("fatal", "KeyError: 'zebra'", "table.py:7 in find")


def test_foreign_lines_between_frames_are_skipped():
    lines = PLAIN.splitlines()
    noisy = "\n".join([*lines[:3], "gpu-a:71:90 [1] NCCL INFO Channel 00", *lines[3:5], "loaded: yes", *lines[5:]])
    assert read(RECORDS, noisy)[0].fields["exception"] == "KeyError"


def test_two_mixed_tracebacks_give_both_exceptions():
    lines = PLAIN.splitlines()
    mixed = "\n".join([lines[0], lines[0], *lines[1:-1], *lines[1:-1], lines[-1], lines[-1]])
    assert [s.fields["exception"] for s in read(RECORDS, mixed)] == ["KeyError", "KeyError"]


def test_exception_groups_give_one_event_each():
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/a.py", line 4, in go
  |     await x
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/b.py", line 9, in pull
    |     raise TimeoutError
    | TimeoutError: shard 4
    +------------------------------------"""
    assert [s.fields["exception"] for s in read(RECORDS, text)] == ["ExceptionGroup", "TimeoutError"]


def test_a_box_of_rich_is_read_with_broken_paths():
    text = """\
╭───────────── Traceback (most recent call last) ─────────────╮
│ /srv/a/long/folder/tune_everything.py                       │
│ :412 in <module>                                            │
│                                                             │
│   411 if __name__ == "__main__":                            │
│ ❱ 412     main()                                            │
│ /srv/env/lib/python3.10/site-packages/accelerate/accelerato │
│ r.py:90 in prepare                                          │
╰─────────────────────────────────────────────────────────────╯
ValueError: mixed precision is not available"""
    record = read_record(RECORDS, text)
    assert record.fields["exception"] == "ValueError"
    assert "tune_everything.py:<module>" in str(record.fields["frames"])


def test_a_notebook_traceback_is_read():
    text = """\
AssertionError                            Traceback (most recent call last)
File ~/lab/net.py:31, in forward(self, x)
     30 def forward(self, x):
---> 31     assert x.ndim == 4

AssertionError: wrong shape"""
    record = read_record(RECORDS, text)
    assert (record.fields["exception"], record.fields["function"]) == ("AssertionError", "forward")


def test_an_exception_hook_that_names_only_the_type_and_the_process():
    line = "Unhandled exception <class 'RuntimeError'> in thread <_MainThread(MainThread, started 2297)>, proc 11644."
    record = read_record(RECORDS, line)
    assert (record.kind, record.fields["pid"], record.fields["exception"]) == (
        "python.exception",
        11644,
        "RuntimeError",
    )
    assert kinds(RECORDS, line.replace("RuntimeError", "KeyboardInterrupt")) == []


def test_bus_error_of_a_worker_has_its_signal():
    record = read_record(
        RECORDS,
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
    )
    assert (record.kind, record.fields["signal"]) == ("python.dataloader", 7)


def test_fatal_python_error_has_signal_and_place():
    text = """\
Fatal Python error: Segmentation fault

Thread 0x00007f5500000700 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait

Current thread 0x00007f5511112222 (most recent call first):
  File "/srv/job/ops.py", line 55 in fused
  File "/srv/job/fit.py", line 90 in main

Extension modules: numpy.core._multiarray_umath (total: 41)"""
    record = read_record(RECORDS, text)
    assert (record.kind, record.level) == ("python.fatal", "fatal")
    assert (record.fields["signal"], record.fields["threads"]) == (11, 2)
    assert (record.fields["where"], record.fields["frames"]) == (
        "ops.py:55 in fused",
        "srv/job/fit.py:main > srv/job/ops.py:fused",
    )


def test_a_stack_dump_on_a_timer_is_no_failure_of_its_own():
    text = 'Timeout (0:10:00)!\nThread 0x00007f01 (most recent call first):\n  File "/srv/x.py", line 3 in wait\n'
    record = read_record(RECORDS, text)
    assert (record.kind, record.level, record.fields["where"]) == ("python.stack", "warning", "x.py:3 in wait")


def test_py_spy_shows_the_main_thread():
    text = 'Thread 71 (idle): "Queue"\n    get (queue.py:171)\nThread 70 (active): "MainThread"\n    step (srv/fit.py:31)\n'
    record = read_record(RECORDS, text)
    assert (record.fields["threads"], record.fields["where"]) == (2, "fit.py:31 in step")


def test_a_warning_takes_its_source_line():
    record = read_record(RECORDS, "/srv/a.py:12: UserWarning: old option\n  warnings.warn('old option')")
    assert (record.kind, record.level, record.fields["category"]) == ("python.warning", "warning", "UserWarning")


def test_leaked_semaphores_are_a_warning():
    line = "/usr/lib/python3.10/multiprocessing/resource_tracker.py:224: UserWarning: resource_tracker: There appear to be 4 leaked semaphore objects to clean up"
    record = read_record(RECORDS, line)
    assert (record.kind, record.level, record.fields["leaked"]) == ("python.other", "warning", 4)


def test_a_missing_script_is_fatal():
    record = read_record(
        RECORDS, "/usr/bin/python3: can't open file '/srv/tarin.py': [Errno 2] No such file or directory"
    )
    assert (record.kind, record.level) == ("python.other", "fatal")


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("SIGKILL", 9),
        ("Signals.SIGTERM", 15),
        ("bus error", 7),
        ("11", 11),
        ("kill", 9),
        ("nothing", None),
        ("999", None),
    ],
)
def test_signals_by_name_word_and_number(word, number):
    assert signal_number(word) == number


PARTS = st.sampled_from(
    [
        "Traceback (most recent call last):",
        '  File "/a/b.py", line 3, in f',
        "    x = 1",
        "ValueError: x",
        "",
        "\t",
        "│ a.py:3 in f │",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS | st.text(PRINTABLE, max_size=60), max_size=25))
def test_torn_tracebacks_never_raise(lines):
    for record in read(RECORDS, "\n".join(lines)):
        assert record.text is not None
        assert len(record.text) <= 4_100


def test_exception_repeated_by_the_ray_driver_gives_the_process():
    raised = "ray.exceptions.RayTaskError(ValueError): ray::Roll.step() (pid=91, ip=10.4.7.2, actor_id=5c, repr=<Roll>)"
    record = read_record(
        RECORDS,
        PLAIN.replace("KeyError: 'pixel_values'", raised + '\n  File "roll.py", line 3, in step\nValueError: 7'),
    )
    assert (record.fields["pid"], record.fields["host"], record.fields["inner"]) == (91, "10.4.7.2", "ValueError")


def test_quoted_traceback_of_another_rank_gives_that_rank():
    quoted = (
        "Traceback (most recent call last): (RANK 6)\n"
        '  File "/srv/save.py", line 41, in write_data\n'
        "    os.fsync(stream.fileno())\n"
        "OSError: [Errno 5] Input/output error\n"
    )
    assert read_record(RECORDS, quoted).fields["rank"] == 6


def test_message_on_the_line_below_its_type_is_read():
    record = read_record(RECORDS, PLAIN.replace("KeyError: 'pixel_values'", "KeyError: \n'optimizer.layers.0.exp_avg'"))
    assert (record.fields["exception"], record.fields["message"]) == ("KeyError", "'optimizer.layers.0.exp_avg'")


def test_a_message_of_torch_npu_goes_on_below_its_own_prefix_and_names_the_rank():
    text = (
        "RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64\n"
        "(PID:8123, Device:5, RankID:13) ERR02200 DIST call hccl api failed.\n"
        "EI0004: 2025-03-04-10:11:12.131.415 The ranktable is invalid, Reason: a server is listed twice.\n"
    )
    record = read_record(RECORDS, text)
    assert (record.fields["rank"], record.fields["pid"]) == (13, 8123)
    assert "ranktable is invalid" in record.text


def test_cut_traceback_keeps_the_text_before_it():
    record = read_record(
        RECORDS, 'Exception in worker 3: no room left, Traceback (most recent call last):\n  File "a.py", line 3, in f'
    )
    assert "no room left" in record.text


def test_cut_traceback_of_a_spawned_process_has_no_exception():
    parent = PLAIN.replace("KeyError: 'pixel_values'", "Exception: ")
    text = f"{parent}\n\n-- Process 4 terminated with the following error:\n" + PLAIN.rpartition("\n")[0]
    record = read_record(RECORDS, text)
    assert (record.level, record.fields["exception"], record.fields["local_rank"]) == ("error", "", 4)
    assert read_record(RECORDS, f"{text}\nKeyError: 'x'").fields["inner"] == "KeyError"


def test_exception_of_a_spawned_process_gives_its_local_rank():
    record = read_record(RECORDS, "\n-- Process 3 terminated with the following error:\n" + PLAIN)
    assert (record.kind, record.fields["local_rank"]) == ("python.traceback", 3)


CHAIN = """\
Traceback (most recent call last):
  File "/srv/env/lib/python3.12/site-packages/pool/core.py", line 61, in close
    self.sock.close()
OSError: [Errno 9] Bad file descriptor

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/env/lib/python3.12/site-packages/pool/core.py", line 63, in close
    raise RuntimeError("closing")
RuntimeError: closing"""


def test_a_chain_that_follows_an_uncaught_exception_stays_fatal():
    assert [record.level for record in read(RECORDS, CHAIN)] == ["fatal", "fatal"]


def test_plug_in_that_jax_skips_is_no_failure():
    logged = f"ERROR:jax:Jax plugin configuration error: Exception when calling plug.initialize()\n{CHAIN}"
    assert [record.level for record in read(RECORDS, logged)] == ["warning"]


def test_traceback_after_a_caught_exception_without_a_chain_is_read():
    caught = "Exception ignored in: <function Pool.__del__ at 0x7f00aa10>\n" + CHAIN.partition("\n\n")[0]
    records = read(RECORDS, f"{caught}\n\n{PLAIN}")
    assert [one_of.level for one_of in records] == ["warning", "fatal"]


def test_a_warning_of_sphinx_ends_the_message_above_it():
    record = read(RECORDS, f'{PLAIN}\n/srv/docs/a.rst:4: ERROR: Error in "toctree" directive:\ninvalid option block.')[
        0
    ]
    assert record.text == "KeyError: 'pixel_values'"


def test_other_json_is_no_report():
    assert kinds(RECORDS, '    "message": "ValueError: no such tag",\n    "level": 3') == []


def test_line_of_hydra_without_an_exception_gives_no_record():
    assert not read(RECORDS, "Error in call to target 'fit.loops.Trainer':\nstep 3 loss 2.1")


def test_traceback_relayed_at_level_info_is_uncaught():
    stamp = "2026-05-04 10:11:12,473 - tuner - INFO - [rank7]: "
    glued = f'{stamp}  File "/srv/fit.py", line 8, in fit {stamp}  File "/srv/load.py", line 3, in load'
    log = [f"{stamp}Traceback (most recent call last):", glued, f"{stamp}    assert index is not None"]
    (record,) = parse_text("\n".join(log))
    assert (record.kind, record.level, record.text) == (
        "python.traceback",
        "fatal",
        "AssertionError: assert index is not None",
    )

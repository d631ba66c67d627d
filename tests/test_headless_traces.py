"""Logs that begin within a stack trace, whose first line is missing."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose
from logdoctor.authoring.tracing import trace_text
from logdoctor.model import CALM, Diagnosis

FRAMES = [
    '  File "/w/site-packages/fit/loop.py", line 80, in run',
    "    self.forward(batch)",
    '  File "/w/net.py", line 12, in forward',
    "    return self.layer(x)",
]


def read(text: str, knowledge: object) -> Diagnosis:
    return diagnose(io.BytesIO(text.encode()), knowledge=knowledge)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "prefix", ["", "[rank5]: ", "(Worker_TP1 pid=411) ", "2026-03-04T08:11:02.118Z ", "3: [rank3]: "]
)
def test_log_of_traceback_frames_alone_is_unknown(prefix, knowledge):
    diagnosis = read("".join(f"{prefix}{line}\n" for line in FRAMES), knowledge)
    assert diagnosis.verdict == "unknown"
    assert diagnosis.unexplained[0].line.number == 1


@pytest.mark.parametrize(
    "above", ["    total = reduce(parts)", "            ^^^^^^^^^^^^^", 'fit/main.py", line 7, in main']
)
def test_rest_of_an_outer_frame_above_is_allowed(above, knowledge):
    assert read("\n".join([above, *FRAMES]), knowledge).verdict == "unknown"


def test_the_frames_of_a_cplusplus_exception_alone_are_not_healthy(knowledge):
    log = "frame #1: c10::detail::torchCheckFail(char const*) + 0x64 (0x7f10 in libc10.so)\nframe #2: clone + 0x44 (0x7f11 in libc.so.6)"
    assert read(log, knowledge).verdict == "unknown"


def test_trace_lists_the_headless_traceback(knowledge):
    assert [e.kind for e in trace_text("\n".join(FRAMES), knowledge).unaccounted] == ["python.traceback"]


def test_prefix_of_the_frames_gives_the_rank(knowledge):
    diagnosis = read("".join(f"[rank5]: {line}\n" for line in FRAMES), knowledge)
    assert diagnosis.unexplained[0].rank == 5


def test_last_source_line_gives_the_missing_exception(knowledge):
    frames = ['  File "/w/check.py", line 5, in check', "    assert layers % pipeline_parallel_size == 0, \\"]
    diagnosis = read("\n".join(frames), knowledge)
    assert diagnosis.causes[0].signature == "app.exception"
    assert "assert layers % pipeline_parallel_size == 0" in diagnosis.causes[0].summary
    frames[1] = '    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")'
    assert read("\n".join(frames), knowledge).causes[0].signature == "cuda.oom"


@pytest.mark.parametrize(
    "log",
    [
        "\n".join([*FRAMES, *(f"step {n} loss: 2.1{n}" for n in range(4))]),
        "fit/net.py:12: UserWarning: slow\n  return self.layer(x)",
        'Current thread 0x00007f (most recent call first):\n  File "/w/net.py", line 12 in forward',
    ],
    ids=["it went on", "a warning", "stacks that were asked for"],
)
def test_frames_without_failure_are_healthy(log, knowledge):
    assert read(log, knowledge).verdict in CALM


@pytest.mark.parametrize("mark", ["...", "[...]", "…", "# ...", "<snip>"])
def test_stack_below_a_mark_of_omitted_lines_is_found(mark, knowledge):
    diagnosis = read("\n".join(["loading newt-7b", mark, *FRAMES]), knowledge)
    assert diagnosis.verdict == "unknown"
    assert diagnosis.unexplained[0].line.number == 3


def test_raise_line_with_a_telling_type_gives_the_cause(knowledge):
    frames = ['  File "/w/mcore/dist_checkpointing/validation.py", line 5, in validate_sharding_integrity']
    diagnosis = read("\n".join([*frames, "    raise CheckpointingException(message)"]), knowledge)
    assert diagnosis.causes[0].signature == "checkpoint.incompatible"
    assert (
        read("\n".join([*frames[:0], *FRAMES[:3], "    raise RuntimeError(message)"]), knowledge).verdict == "unknown"
    )


def test_boxed_frame_broken_before_its_function_is_found(knowledge):
    box = ["│ /w/site-packages/accel/cuda.py:217 in                    │", "│ pin                                   │"]
    assert read("\n".join(box), knowledge).verdict == "unknown"


@pytest.mark.parametrize(
    "frames",
    [
        "#4  0x55d01a in step_\n        at ./src/step.F90:88\n#5  0x55e09b in main_loop_",
        " 4 0x000000000001a298 dispatch()  /build/callbackq.h:209\n 5 0x000000000001a2a0 progress()  /build/uct.h:1677",
        "  3: ./app(_Z4stepv+0x12) [0x51a2c4]\n  4: ./app(main+0x99) [0x51b960]",
        "[11] /opt/lib/libfit.so(+0x7c212)[0x7fb6e5ab52dd]\n[12] /opt/lib/libfit.so(step+0xcc)[0x7fb4614edcec]",
        "24  Python      0x0000000102c450e4 pyrun_file + 156\n25  dyld        0x000000018157c274 start + 2840 start",
        "    @     0x7f3396f38b4c       1072  net::Mesh::Meet()\n    @     0x7f35362c7e4b  (unknown)  fit::call()",
        "    @     0x7f64489de02a abort\n    @     0x7f644ddc66ba start_thread",
        "solver  00000000004A1B2C  step_mod_mp_step_  212  step_mod.F90\nsolver  00000000004B0011  MAIN__  40  main.F90",
        "jl_apply at /build/src/julia.h:1982 [inlined]\ntrue_main at /build/src/jlapi.c:573",
        "\tat org.fit.Loop.run(Loop.java:88)\n\tat java.lang.Thread.run(Thread.java:750)",
        "\t/src/agent/run.go:88 +0x1d\ncreated by main.main\n\t/src/agent/main.go:12 +0x5a",
        '  File "/w/net.py", line 12 in forward\n  File "/w/fit.py", line 80 in run',
        "#43 PyObject_Call from ??:0\n#44 c10::take(int) from alloc.cpp:88",
        "MPIR_Waitall(167)..............: \nMPIR_Waitall_impl(51)..........: ",
        "2ac3d1e07000-2ac3d1e0a000 rw-s 00000000 00:12 71\n2ac3d1e0a000-2ac3d1e0d000 r-xp 00000000 00:12 72  /lib64/libc.so",
    ],
)
def test_the_later_lines_of_other_stacks_are_not_healthy(frames, knowledge):
    assert read(frames, knowledge).verdict == "unknown"
    assert read(f"{frames}\nstep 10 loss: 2.31\nTraining completed.", knowledge).verdict != "failed"


def test_one_line_that_looks_like_a_frame_is_no_stack(knowledge):
    assert read("listen at /run/fit/socket.c:40\nstep 10 loss: 2.31\n", knowledge).verdict in CALM


@pytest.mark.parametrize("head", ["raceback (most recent call last):", "recent call last):"])
def test_head_without_its_first_letters_counts_as_missing(head, knowledge):
    assert read("\n".join([head, *FRAMES]), knowledge).verdict == "unknown"


def test_source_lines_of_a_box_may_stand_above_its_first_whole_frame(knowledge):
    box = [
        "│   40                                     │",
        "│   41 │   for part in parts:              │",
        "│ ❱ 42 │   │   total += reduce(part)       │",
        "│                                          │",
        "│ /w/site-packages/fit/islands.py:88 in    │",
        "│ lay_out                                  │",
        "│                                          │",
        "│   87 │   def lay_out(self):              │",
        "│ ❱ 88 │   │   return self.mesh[self.at]   │",
    ]
    assert read("\n".join(box), knowledge).verdict == "unknown"
    assert read("\n".join(box[:4]), knowledge).verdict in CALM


def test_a_box_may_begin_below_its_frame_with_the_path_of_a_module(knowledge):
    box = ["│ /w/site-packages/fit/loader.py:217                    │", "│ in fetch                                 │"]
    assert read("\n".join(box), knowledge).verdict == "unknown"
    assert read("│ fit-a:29500   │\n│ fit-b:29500   │\n", knowledge).verdict in CALM


def test_marked_line_of_a_cut_box_gives_the_exception(knowledge):
    box = [
        "╭─────────── Traceback (most recent call last) ───────────╮",
        "│ /w/site-packages/fit/alloc.py:88 in take                │",
        "│                                                         │",
        "│   87 │   if free < wanted:                              │",
        '│ ❱ 88 │   │   raise RuntimeError("CUDA out of memory. Tried to allocate 3.00 GiB")  │',
    ]
    assert read("\n".join(box), knowledge).causes[0].signature == "cuda.oom"


def test_a_frame_may_be_broken_before_its_function(knowledge):
    frames = ['  File "/w/site-packages/fit/loop.py", line 80, i', "n run", *FRAMES[2:]]
    assert read("\n".join(frames), knowledge).verdict == "unknown"


def test_stack_of_anomaly_mode_without_exception_is_unknown(knowledge):
    head = "[W python_anomaly_mode.cpp:104] Warning: Error detected in MulBackward0. Traceback of forward call that caused the error:\n"
    assert read(head + "\n".join(FRAMES), knowledge).verdict == "unknown"
    raised = (
        "Traceback (most recent call last):\n"
        + FRAMES[0]
        + "\nRuntimeError: Function 'MulBackward0' returned nan values in its 0th output."
    )
    assert read(f"{head}{raised}", knowledge).causes[0].signature == "app.nan-loss"

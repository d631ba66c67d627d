"""Frames of all shapes, and what the stack of a proof tells."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose
from logdoctor.frames import find_frame, read_frame, read_stack
from logdoctor.model import Diagnosis

STACKS = {
    "traceback": (
        '  File "/w/fit/run.py", line 88, in flush\n    pool.take()\n  File "/w/fit/pool.py", line 41, in take\n    raise E',
        ["pool.py:41 in take", "run.py:88 in flush"],
    ),
    "faulthandler": (
        'Current thread 0x00007f (most recent call first):\n  File "/w/net.py", line 12 in forward\n  File "/w/fit.py", line 8 in run',
        ["net.py:12 in forward", "fit.py:8 in run"],
    ),
    "a notebook": (
        "/opt/v/dist-packages/eel/fit.py in run(self, rows)\n     11     a = 1\n---> 12     b = 2\n\nFile /eel/pool.py:41, in take()\n---> 41   c",
        ["pool.py:41 in take", "fit.py:12 in run"],
    ),
    "native frames that a Python handler prints": (
        '  File "/b/quota.c", line 233, in check\n  File "src/init.cc", line 18, in ncclCommInit\n  File "<unknown>", line 0, in f',
        ["check (quota.c:233)", "ncclCommInit (init.cc:18)", "f"],
    ),
    "PyTorch": (
        "frame #0: a::b::C::take(std::vector<int, A<int> > const&) + 0x1d2 (0x7f10 in /l/libfit.so)\nframe #1: clone + 0x43 (0x7f11 in /lib64/libc.so.6)",
        ["C::take (libfit.so)", "clone (libc.so.6)"],
    ),
    "gdb": (
        "#0  0x00007f4b in take (n=3) at pool.c:41\n#1  0x00007f4c in run () from /usr/lib/libfit.so.2\n#2  main (argc=1) at run.c:7",
        ["take (pool.c:41)", "run (libfit.so.2)", "main (run.c:7)"],
    ),
    "Open MPI": (
        "[ 3] /opt/fit/lib/libsparse.so(factor+0x51)[0x2b1c41a00a51]\n[ 4] ./ocean(main+0x9)[0x4f3ac0]",
        ["factor (libsparse.so)", "main (ocean)"],
    ),
    "glog": (
        "    @     0x7f3396f38b4c       1072  net::Mesh::Meet()\n    @     0x7f35 main",
        ["net::Mesh::Meet", "main"],
    ),
    "UCX": (
        " 0 0x000000000001c3a7 halo_pack()  /src/ocean/halo.c:88\n 1 0x000000000001c3a8 step_all()  /src/ocean/main.c:517",
        ["halo_pack (halo.c:88)", "step_all (main.c:517)"],
    ),
    "Java": (
        "\tat org.fit.Loop.run(Loop.java:88)\n\tat java.lang.Thread.run(Thread.java:750)",
        ["org.fit.Loop.run (Loop.java:88)", "java.lang.Thread.run (Thread.java:750)"],
    ),
    "gfortran": (
        "#0  0x7f2c4a51 in ???\n#1  0x48d1e0 in __fields_MOD_pack\n        at /src/ocean/fields.f90:412",
        ["", "__fields_MOD_pack (fields.f90:412)"],
    ),
    "ifort": (
        "ocean.exe  000000000041B2C3  step_mod_mp_step_  212  step_mod.F90\nocean.exe  000000000041B2C4  MAIN__  88  main.f90",
        ["step_mod_mp_step_ (step_mod.F90:212)", "MAIN__ (main.f90:88)"],
    ),
    "Rust": (
        "   3: fit::pool::take\n             at ./src/pool.rs:12:5\n   4: fit::main\n             at ./src/main.rs:4:9",
        ["fit::pool::take (pool.rs:12)", "fit::main (main.rs:4)"],
    ),
    "Go": (
        "main.take(0xc0000140a8, 0x3)\n\t/src/agent/pool.go:88 +0x1d\nmain.main()\n\t/src/agent/main.go:12 +0x5a",
        ["main.take (pool.go:88)", "main.main (main.go:12)"],
    ),
    "UCX without addresses": (
        " 0  /opt/ucx/lib/libucs.so.0(ucs_handle_error+0x2e4)\n 1  /opt/fit/libmesh.so(pack_faces+0x12)",
        ["ucs_handle_error (libucs.so.0)", "pack_faces (libmesh.so)"],
    ),
    "UCX with sources only": (
        "pack_faces()  /src/ocean/mesh.c:77\nstep_all()  /src/ocean/main.c:517",
        ["pack_faces (mesh.c:77)", "step_all (main.c:517)"],
    ),
    "Julia of packages": (
        ' [1] pack(a::Array{Float64, 3})\n   @ Ocean ~/Ocean/src/halo.jl:88 [inlined]\n [2] (::Main.var"#1#2")()\n   @ Main /w/run.jl:3',
        ["pack (halo.jl:88)", '(::Main.var"#1#2") (run.jl:3)'],
    ),
    "Julia before 1.6": (
        " [1] pack at /w/halo.jl:88\n [2] top-level scope at /w/run.jl:3",
        ["pack (halo.jl:88)", "top-level scope (run.jl:3)"],
    ),
    "Linux": (" nfs_wait+0x12/0x30 [nfs]\n ? schedule+0x2f/0x90", ["nfs_wait (nfs)", "schedule"]),
    "Julia": (
        " [1] take(n::Int64)\n   @ Main ./pool.jl:12\n [2] top-level scope\n   @ ./run.jl:4",
        ["take (pool.jl:12)", "top-level scope (run.jl:4)"],
    ),
}


@pytest.mark.parametrize(("log", "frames"), STACKS.values(), ids=STACKS)
def test_stack_is_read_innermost_first(log, frames):
    assert [frame.told for frame in read_stack(log.split("\n"))] == frames


@pytest.mark.parametrize(
    "line",
    [
        "step 118/2000 loss 3.412",
        "listening at 10.8.0.4",
        "#1 Restart the job (or wait)",
        "call finish() before the end",
        "main() returned 3 at step 4:12",
        "E0101 12:00:00.000000 41 pool.cc:41] no such device",
        "0x7f10 is no address of a frame",
        "see docs at https://fit.example/a.html:80",
    ],
)
def test_other_lines_are_no_frames(line):
    assert read_frame(line) is None


def test_templates_and_arguments_are_no_part_of_a_name():
    line = "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::ratio<1l, 1000l> >) + 0x1d2 (0x7f in /l/libt.so)"
    assert [f.function for f in read_stack([line])] == ["WorkNCCL::checkTimeout"]


@pytest.mark.parametrize(
    ("line", "package", "is_own"),
    [
        ('  File "/e/lib/python3.12/site-packages/fit/net.py", line 4, in f', "fit", False),
        ('  File "/usr/lib/python3.12/threading.py", line 4, in f', "python", False),
        ('  File "/home/kim/net.py", line 4, in f', "", True),
        ('  File "/home/kim/tune/bin/fit.py", line 4, in f', "", True),
        ('  File "/opt/venv/bin/torchrun", line 8, in <module>', "python", False),
        (r'  File "C:\env\Scripts\accelerate.exe\__main__.py", line 7, in <module>', "python", False),
        ("frame #1: x::f() + 0x1 (0x7f in /opt/v/lib/libtorch_cuda.so)", "torch", False),
        ("#1  0x7f4c in f () from /usr/lib/libucp.so.0", "UCX", False),
        ("[ 4] ./ocean(f+0x9)[0x4f3ac0]", "", True),
        ("#1  0x7f4c in f (n=3) at /home/kim/ocean/pool.c:41", "", True),
        ('  File "/build/shim/src/alloc/quota.c", line 233, in check', "shim", False),
        ('  File "src/init.cc", line 18, in ncclCommInitRank', "NCCL", False),
    ],
)
def test_frame_tells_its_package(line, package, is_own):
    frame = read_frame(line)
    assert frame is not None
    assert (frame.package, frame.is_own) == (package, is_own)


def test_prefix_of_a_launcher_hides_no_frame():
    assert find_frame('[rank5]:   File "/w/net.py", line 12, in forward') is not None
    assert find_frame("[rank5]: RuntimeError: no part") is None


# ── the stack of a proof ──────────────────────────────────────────────────────────────────────────────────────────────


def read(log: str, knowledge: object) -> Diagnosis:
    return diagnose(io.BytesIO(log.encode()), knowledge=knowledge)  # type: ignore[arg-type]


HEADLESS = """step 12 loss 2.31
[rank3]:   File "/home/kim/fit/run.py", line 88, in flush
[rank3]:     parts = pool.take()
[rank3]:   File "/home/kim/fit/pool.py", line 41, in take
[rank3]:     raise RuntimeError(f"no part: {err}")
[rank3]: RuntimeError: no part: wrap() got an unexpected keyword argument 'order'
"""


def test_frames_without_their_head_belong_to_the_exception_below(knowledge):
    cause = read(HEADLESS, knowledge).causes[0]
    assert "It was raised at pool.py:41 in take, called by run.py:88 in flush." in cause.summary
    assert "no traceback" not in cause.summary
    assert (cause.owner.who, cause.owner.frame) == ("your code", "pool.py:41")


def test_exception_without_frames_says_so(knowledge):
    assert "no traceback" in read("[rank3]: RuntimeError: no part is left\n", knowledge).causes[0].summary


def test_frames_of_another_rank_belong_to_another_exception(knowledge):
    log = HEADLESS.replace("[rank3]: RuntimeError", "[rank4]: RuntimeError")
    assert "pool.py" not in read(log, knowledge).causes[0].summary


def test_line_of_another_rank_gives_the_inner_reason(knowledge):
    log = f"{HEADLESS}[rank6]: TypeError: wrap() got an unexpected keyword argument 'order'\n"
    assert "Rank 6 gives the reason inside it: TypeError: wrap()" in read(log, knowledge).causes[0].summary
    other = log.replace("TypeError: wrap() got an unexpected", "TypeError: pack() got another")
    assert "inside it" not in read(other, knowledge).causes[0].summary


CRASH = """[shim ERROR (pid:41 quota.c:231)]: no such device: 7
!!!!!!! Segfault encountered !!!!!!!
  File "/build/shim/src/alloc/quota.c", line 233, in check_quota
  File "/build/shim/src/cuda/memory.c", line 182, in cuMemCreate
  File "misc/cudawrap.cc", line 92, in ncclCuMemHostEnable()
  File "src/init.cc", line 1850, in ncclCommInitRank
  File "<unknown>", line 0, in _PyEval_EvalFrameDefault
"""


def test_library_in_place_of_the_driver_is_to_blame_for_its_crash(knowledge):
    cause = read(CRASH, knowledge).causes[0]
    chain = "check_quota (quota.c:233), called by cuMemCreate (memory.c:182) for ncclCommInitRank (init.cc:1850)"
    assert f"It crashed in {chain}." in cause.summary
    assert "no such device: 7" in cause.summary
    assert (cause.owner.who, cause.owner.package) == ("host", "shim")
    assert "shim" in cause.steps[0].text


def test_frames_of_the_watchdog_alone_are_a_timeout(knowledge):
    log = (
        "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<long>) + 0x1d2 (0x7f10 in /l/libtorch_cuda.so)\n"
        "frame #2: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 (0x7f11 in /l/libtorch_cuda.so)\n"
    )
    assert read(log, knowledge).causes[0].signature == "collective.timeout"


# ── packages that do not fit ──────────────────────────────────────────────────────────────────────────────────────────

LIBRARY = "/e/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("frames", "error", "signature"),
    [
        (
            [(f"{LIBRARY}/fit/save.py", "store(part)")],
            "TypeError: store() missing 1 required positional argument: 'n'",
            "app.api-mismatch",
        ),
        (
            [("/home/kim/run.py", "store(part)")],
            "TypeError: store() missing 1 required positional argument: 'n'",
            "app.exception",
        ),
        (
            [
                ("/home/kim/run.py", "net(x)"),
                (f"{LIBRARY}/torch/nn/modules/module.py", "return forward_call(*args, **kwargs)"),
            ],
            "TypeError: Net.forward() missing 1 required positional argument: 'n'",
            "app.exception",
        ),
        (
            [
                (f"{LIBRARY}/fit/block.py", "self.attn(x)"),
                (f"{LIBRARY}/torch/nn/modules/module.py", "return forward_call(*args, **kwargs)"),
            ],
            "TypeError: Attention.forward() missing 1 required positional argument: 'n'",
            "app.api-mismatch",
        ),
        (
            [(f"{LIBRARY}/fit/loop.py", "model(**batch)")],
            "TypeError: Net.forward() got an unexpected keyword argument 'n'",
            "app.exception",
        ),
        (
            [(f"{LIBRARY}/fit/loop.py", "call(self)")],
            "TypeError: Log.on_step_end() takes 1 positional argument but 2 were given",
            "app.exception",
        ),
        (
            [(f"{LIBRARY}/fit/loop.py", "quick.take")],
            "AttributeError: module 'quick' has no attribute 'take'",
            "app.api-mismatch",
        ),
        (
            [(f"{LIBRARY}/fit/loop.py", "fit.take")],
            "AttributeError: module 'fit' has no attribute 'take'",
            "app.exception",
        ),
        (
            [("/usr/lib/python3.12/threading.py", "run()")],
            "TypeError: f() missing 1 required positional argument: 'n'",
            "app.exception",
        ),
        (
            [(f"{LIBRARY}/fit/save.py", "raise E(err)")],
            "RuntimeError: lost: store() missing 1 required positional argument: 'n'",
            "app.api-mismatch",
        ),
    ],
)
def test_owner_of_the_call_decides_whether_two_packages_do_not_fit(frames, error, signature, knowledge):
    stack = [f'  File "{path}", line {n}, in f{n}\n    {code}' for n, (path, code) in enumerate(frames, 4)]
    log = "\n".join(["Traceback (most recent call last):", *stack, error, ""])
    assert read(log, knowledge).causes[0].signature == signature

"""Facts of the lines around a proof: who is silent, whose failure it is, and which name or size was wanted."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose


@pytest.fixture
def cause_of(knowledge):
    def first_cause(*lines, lang="en"):
        log = io.BytesIO(("\n".join(lines) + "\n").encode())
        return diagnose(log, lang=lang).causes[0]

    return first_cause


HEALTHY = (
    "INFO 08:14:01 serve.py:88 request 4411 done in 31 ms on worker 9",
    "INFO 08:14:01 serve.py:88 request 4412 done in 29 ms on worker 9",
)

# ── who did not come ────────────────────────────────────────────────────────────────────────────────────────────────

BARRIER = "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: load::1."
STORE = (
    "[rank0]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 6/8 clients joined."
)
TORCH_BARRIER = "RuntimeError: Timed out initializing process group in store based barrier on rank: 0"
HOROVOD = "horovod.runner.common.util.timeout.TimeoutException: Timed out waiting for tasks to start."
SILENT = [
    ((f"{BARRIER} Timed out task names:", "/job:w/replica:0/task:5", "/job:w/replica:0/task:7"), (5, 7), "tasks 5, 7"),
    ((f"{BARRIER} Some timed out task names: /job:w/task:5, /job:w/task:6",), (5, 6), "tasks 5, 6"),
    ((STORE, "[rank0]: Missing ranks: [3, 6]"), (3, 6), "ranks 3, 6"),
    ((STORE, "[rank0]: ranks 3 and 6 did not connect"), (3, 6), "ranks 3, 6"),
    ((STORE, "[rank0]: ranks 0-2, 4, 5, 7 of 8 have joined"), (3, 6), "ranks 3, 6"),
    ((TORCH_BARRIER, "ranks that never arrived: 2, 3"), (2, 3), "ranks 2, 3"),
    ((HOROVOD, "The following tasks did not register:", "  - 4", "  - 5"), (4, 5), "tasks 4, 5"),
]


@pytest.mark.parametrize(("lines", "ranks", "who"), SILENT)
def test_silent_ranks_are_named(cause_of, lines, ranks, who):
    cause = cause_of(*lines)
    assert (cause.signature, cause.culprit.ranks) == ("rdzv.timeout", ranks)
    assert who in cause.summary
    assert "does not name" not in cause.summary


@pytest.mark.parametrize(
    "lines",
    [
        (HOROVOD, "Hosts that did not connect: gpu07, gpu09"),
        (HOROVOD, "Nodes not responding:", "  gpu07 (10.0.0.7)", "  gpu09 (10.0.0.9)"),
        (HOROVOD, "nodes gpu07, gpu09 have not joined"),
    ],
)
def test_silent_hosts_are_named(cause_of, lines):
    assert cause_of(*lines).culprit.hosts == ("gpu07", "gpu09")


@pytest.mark.parametrize(
    "lines",
    [
        (TORCH_BARRIER,),
        (TORCH_BARRIER, "number of missing workers: 3"),
        (TORCH_BARRIER, "ranks joined: 4"),
        (TORCH_BARRIER, *HEALTHY),
        ("[rank0]: " + TORCH_BARRIER, "[rank4]: Missing ranks: [3, 6]"),  # of another process
        (TORCH_BARRIER, "loss 2.11", "missing keys: 3, 6"),
    ],
)
def test_nobody_is_silent_without_a_list(cause_of, lines):
    cause = cause_of(*lines)
    assert cause.culprit.ranks in ((), (0,))
    assert "did not come" not in cause.summary.lower()


# ── the identity beside the code ────────────────────────────────────────────────────────────────────────────────────

CODE = "EL0004: 2025-03-11-08:14:02.118.141 Failed to allocate memory."
IDENTITIES = [
    ("[ERROR] 2025-03-11-08:14:02 (PID:8812, Device:6, RankID:14) ERR00100 PTA call acl api failed",),
    ("[ERROR] 2025-03-11-08:14:02 rank: 14, device id: 6: the operator failed",),
    ("fatal error in step 7 (rank=14 gpu=6)",),
]


@pytest.mark.parametrize("above", IDENTITIES)
def test_identity_stands_above_the_code(cause_of, above):
    cause = cause_of("step 3 loss 2.1", *above, CODE)
    assert (cause.signature, cause.culprit.ranks) == ("cuda.oom", (14,))
    assert "device 6" in cause.summary


@pytest.mark.parametrize(
    "above",
    [
        (IDENTITIES[0][0].replace("14", "13"), IDENTITIES[0][0]),  # two heads
        ("INFO rank=14 gpu=6 starts",),  # no head of a failure
        ("[ERROR] device 6 is slow",),  # too little
        ("[ERROR] 2025-03-11 07:14:02 rank: 14, device: 6: retried", "2025-03-11 08:14:02 step 3"),
    ],
)
def test_identity_of_another_line_is_not_taken(cause_of, above):
    if len(above) == 2 and "07:14" in above[0]:
        assert cause_of(*above, f"2025-03-11 08:14:02 {CODE}").culprit.ranks == ()
    else:
        assert cause_of(*above, CODE).culprit.ranks == ()


# ── the number in front of NCCL's words ─────────────────────────────────────────────────────────────────────────────

CLOSED = "misc/socket.cc:71 NCCL WARN socketProgress: Connection closed by remote peer 10.0.4.9<41822>"


def test_number_before_a_file_of_nccl_is_a_device(cause_of):
    cause = cause_of(f"[3] {CLOSED}", "[3] NCCL INFO bootstrap.cc:701 -> 6", "[3] NCCL INFO init.cc:1402 -> 6")
    assert "GPU 3" in cause.summary
    assert "ank 3" not in cause.title + cause.summary
    assert "while NCCL started (bootstrap.cc, init.cc)" in cause.summary


def test_number_before_a_whole_prefix_of_nccl_is_a_rank(cause_of):
    assert "Rank 5 on gx2 lost" in cause_of(f"[5] gx2:71:80 [3] {CLOSED}").summary


@pytest.mark.parametrize("trail", ["[3] NCCL INFO enqueue.cc:701 -> 6", "step 4 loss 2.1"])
def test_other_calls_are_no_start(cause_of, trail):
    assert (
        "started"
        not in cause_of(f"[3] {CLOSED}", trail, "[3] NCCL INFO init.cc:1402 -> 6" if "step" in trail else "").summary
    )


# ── what was wanted and what was free ───────────────────────────────────────────────────────────────────────────────

PLAIN = "RuntimeError: CUDA error: out of memory"
RMM = (
    "25/09/30 03:15:50 WARN rapids.GpuDeviceManager: Initial RMM allocation (50123.5 MB) is larger than free memory (8120 MB)",
    "25/09/30 03:15:50 INFO rapids.GpuDeviceManager: Initializing RMM POOL initial size = 50123.5 MB, max size = 61000.0 MB on gpuId 2",
    "25/09/30 03:15:51 ERROR rapids.RapidsExecutorPlugin: Exception in the executor plugin, shutting down!",
    "java.lang.OutOfMemoryError: Could not allocate native memory: std::bad_alloc: out_of_memory: CUDA error",
)
ASKED = [
    (RMM, "48.9 GiB", "7.93 GiB", 2, True),
    (
        (
            "Free memory on device cuda:1 (12.5/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB).",
            PLAIN,
        ),
        "71.2 GiB",
        "12.5",
        1,
        True,
    ),
    (
        ("trying to allocate 6.00 GiB on GPU 3", "GPU 3: 2.50 GiB free of 79.10 GiB", PLAIN),
        "6.00 GiB",
        "2.50 GiB",
        3,
        False,
    ),
]


@pytest.mark.parametrize(("lines", "wanted", "free", "device", "crowded"), ASKED)
def test_numbers_beside_an_allocation_are_told(cause_of, lines, wanted, free, device, crowded):
    cause = cause_of(*lines)
    assert cause.signature == "cuda.oom"
    told = cause.title + cause.summary
    assert all(word in told for word in (wanted, free, f"GPU {device}"))
    assert ("holds the rest" in cause.steps[0].text) == crowded


@pytest.mark.parametrize(
    "lines",
    [
        (PLAIN,),
        ("loaded 3.5 GiB of weights", PLAIN),
        ("host memory: 12 GiB free", "io.cache: wants 40 GiB", PLAIN),
        ("[rank1]: " + RMM[0], "[rank0]: " + PLAIN),
        (*RMM[:1], *(f"step {n} loss 2.1" for n in range(9)), PLAIN),
    ],
)
def test_other_sizes_are_not_those_of_the_allocation(cause_of, lines):
    cause = cause_of(*lines)
    assert "holds the rest" not in cause.steps[0].text
    assert "free" not in cause.title


def test_what_another_process_holds_is_not_its_own(cause_of):
    mine = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.50 GiB. GPU 2 has a total capacity of 39.39 GiB of "
        "which 6.10 GiB is free. {other}Including non-PyTorch memory, this process has {used} GiB memory in use."
    )
    crowded = cause_of(mine.format(other="", used="5.1"))
    assert "holds the rest" in crowded.steps[0].text
    assert "holds the rest" not in cause_of(mine.format(other="", used="33.1")).steps[0].text


OLDEST = "CUDA out of memory. Tried to allocate {wanted} MiB (GPU 0; {total} MiB total capacity; {used} MiB already allocated; {free} MiB free; {unused} MiB cached)"
OLD = "CUDA out of memory. Tried to allocate {wanted} MiB (GPU 0; {total} MiB total capacity; {used} MiB already allocated; {free} MiB free; {held} MiB reserved in total by PyTorch)"
SINCE_2_1 = "CUDA out of memory. Tried to allocate {wanted} MiB. GPU 0 has a total capacity of {total} MiB of which {free} MiB is free. Of the allocated memory {used} MiB is allocated by PyTorch, and {unused} MiB is reserved by PyTorch but unallocated."


@pytest.mark.parametrize("form", [OLDEST, OLD, SINCE_2_1])
@pytest.mark.parametrize("total", [4096, 24576, 81920])
@pytest.mark.parametrize(
    ("wanted", "used", "unused", "free", "step"),
    [
        (0.01, 0.9, 0.02, 0, "micro batch"),
        (0.2, 0.4, 0.42, 0.1, "expandable_segments"),
        (0.01, 0.2, 0.01, 0.5, "expandable_segments"),
        (3, 0.3, 0.01, 0.6, "fast kernel"),
        (0.05, 0.02, 0.01, 0.01, "holds the rest"),
    ],
)
def test_sizes_say_what_to_do(cause_of, form, total, wanted, used, unused, free, step):
    shares = {"wanted": wanted, "used": used, "unused": unused, "free": free, "held": used + unused, "total": 1}
    message = form.format(**{name: f"{share * total:.2f}" for name, share in shares.items()})
    cause = cause_of(f"torch.cuda.OutOfMemoryError: {message}")
    assert step in cause.steps[0].text
    assert ("Other processes hold" in cause.summary) == (step == "holds the rest")


def test_the_rest_of_a_small_card_is_no_other_process(cause_of):
    message = OLD.format(wanted=900, total=4096, used=2600, free=0, held=2790)
    assert "holds the rest" not in cause_of(f"RuntimeError: {message}").steps[0].text


def test_sizes_of_a_wrapped_message_are_told(cause_of):
    cause = cause_of(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "GPU 1; 24.00 GiB total capacity; 1.20 GiB already allocated; 9.00 MiB free; 1.30 GiB reserved in total by PyTorch",
    )
    assert "GPU 1 is full: 20.00 MiB wanted, 9.00 MiB free" in cause.title
    assert "holds the rest" in cause.steps[0].text


# ── a name that is not there, and those that are ────────────────────────────────────────────────────────────────────

USING = "gx1:71:80 [0] NCCL INFO NET/Socket : Using [0]ens3:10.0.0.4<0>"
NO_INTERFACE = "gx1:71:80 [0] net_socket.cc:60 NCCL WARN NET/Socket : no interface found"
NAMES = [
    ((USING, f"{NO_INTERFACE} matching ens33"), "`ens33` is not among `ens3`; the nearest name is `ens3`."),
    ((USING, f"{NO_INTERFACE} matching bond1"), "`bond1` is not among `ens3`."),
    (
        ("gx1:71:80 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to ib4", USING, NO_INTERFACE),
        "`ib4` is not among `ens3`.",
    ),
    (
        (
            "Traceback (most recent call last):",
            '  File "t.py", line 3, in main',
            "ValueError: Unknown backend 'ncll'",
            "available backends: nccl, gloo",
        ),
        "`ncll` is not among `nccl, gloo`; the nearest name is `nccl`.",
    ),
    (
        (
            "Traceback (most recent call last):",
            '  File "t.py", line 3, in main',
            "ValueError: unknown plugin: adamx",
            "Available plugins:",
            "  adamw",
            "  lion",
        ),
        "`adamx` is not among `adamw, lion`; the nearest name is `adamw`.",
    ),
]


@pytest.mark.parametrize(("lines", "sentence"), NAMES)
def test_wanted_name_is_told_beside_existing_ones(cause_of, lines, sentence):
    assert sentence in cause_of(*lines).summary


@pytest.mark.parametrize(
    "lines",
    [
        (NO_INTERFACE,),
        (USING, f"{NO_INTERFACE} matching ens3"),
        ("supported formats: png, jpg", f"{NO_INTERFACE} matching bond1"),
        (
            "Traceback (most recent call last):",
            '  File "t.py", line 3, in main',
            "ValueError: Unknown backend 'ncll'",
            "available memory: low, high",
        ),
    ],
)
def test_names_of_other_things_are_not_told(cause_of, lines):
    assert "is not among" not in cause_of(*lines).summary


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("/var/spool/slurmd/job7/slurm_script: line 14: tourchrun: command not found", "torchrun"),
        ("run.sh: 12: acelerate: not found", "accelerate"),
        ("bash: mpiruun: command not found", "mpirun"),
    ],
)
def test_misspelt_launcher_is_told(cause_of, line, name):
    cause = cause_of(line)
    assert (cause.signature, name in cause.title) == ("job.launch", True)


@pytest.mark.parametrize("line", ["bash: torchrun: command not found", "bash: blastn: command not found"])
def test_command_that_is_like_no_launcher_is_not_misspelt(knowledge, line):
    causes = diagnose(io.BytesIO(f"{line}\n".encode())).causes
    assert not any("nearest" in cause.summary for cause in causes)


# ── packages that do not fit ────────────────────────────────────────────────────────────────────────────────────────

UNDEFINED = "ImportError: /opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommWindowRegister"
TRACE = ("Traceback (most recent call last):", '  File "/opt/job/train.py", line 3, in <module>', "    import torch")


@pytest.mark.parametrize(
    ("lines", "remove", "keep"),
    [
        (
            (*TRACE, UNDEFINED, "[pip3] nvidia-nccl-cu11==2.19.3", "[pip3] nvidia-nccl-cu12==2.27.5"),
            "nvidia-nccl-cu11",
            "nvidia-nccl-cu12",
        ),
        (
            (
                "torch              2.1.0+cu118",
                "nvidia-nccl-cu11   2.19.3",
                "nvidia-nccl-cu12   2.18.1",
                *TRACE,
                UNDEFINED,
            ),
            "nvidia-nccl-cu12",
            "nvidia-nccl-cu11",
        ),
        (
            (
                "cupy-cuda11x==12.3.0",
                "cupy-cuda12x==13.1.0",
                *TRACE[:2],
                "ImportError: /opt/venv/lib/python3.11/site-packages/cupy/_core.so: undefined symbol: cuKernelGet",
            ),
            "cupy-cuda11x",
            "cupy-cuda12x",
        ),
    ],
)
def test_two_packages_of_one_family_are_told(cause_of, lines, remove, keep):
    cause = cause_of(*lines)
    assert "write the same files" in cause.summary
    assert f"Remove {remove} and install {keep} again" in cause.steps[0].text


@pytest.mark.parametrize(
    "lines",
    [
        (*TRACE, UNDEFINED, "nvidia-nccl-cu12==2.27.5", "nvidia-cudnn-cu11==8.9.2", "nvidia-cudnn-cu12==9.1.0"),
        (*TRACE, UNDEFINED, "nvidia-nccl-cu12==2.27.5", "nvidia-nccl-cu12==2.27.5"),
        (*TRACE, UNDEFINED),
    ],
)
def test_packages_of_other_libraries_are_not_told(cause_of, lines):
    assert "same files" not in cause_of(*lines).summary


def test_version_compiled_against_is_told_beside_the_installed_one(cause_of):
    proof = "ImportError: h5x was compiled against hdf5 1.14.2, and cannot import name 'File'"
    assert "hdf5 1.12.0 is installed" in cause_of("hdf5==1.12.0", *TRACE[:2], proof).summary
    assert "is installed" not in cause_of("hdf5==1.14.5", *TRACE[:2], proof).summary


# ── the number of the work in another line than the proof ───────────────────────────────────────────────────────────

STATE = (
    "[rank{0}]:[E311 08:14:02.118911023 ProcessGroupNCCL.cpp:2252] [PG ID {3} PG GUID {3} Rank {0}]  failure detected by "
    "watchdog at work sequence id: {1} PG status: last enqueued work: {2}, last completed work: 86"
)
DUMP = "[rank{0}]:[E311 08:14:02.118930001 ProcessGroupNCCL.cpp:2584] [PG ID {3} PG GUID {3} Rank {0}] First PG on this rank to signal dumping."
CAUGHT = (
    "[rank{0}]:[E311 08:14:02.118230411 ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={1}, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600031 milliseconds before timing out."
)


def waiting(*ranks, with_call=False):
    lines = (CAUGHT, STATE) if with_call else (STATE, DUMP)
    return [line.format(*rank) for rank in ranks for line in lines]


def test_work_of_all_who_wait_is_told(cause_of):
    told = cause_of(*waiting((1, 87, 90, 2), (4, 87, 90, 2))).summary
    assert told.startswith(
        "Ranks 1,4 waited in work 87 of group 2 and gave up. Each had completed 86 and enqueued up to 90."
    )


def test_work_of_one_rank_is_told(cause_of):
    told = cause_of(*waiting((1, 87, 90, 2))).summary
    assert told.startswith(
        "Rank 1 waited in work 87 of group 2 and gave up. Rank 1 had completed 86 and enqueued up to 90."
    )


def test_different_numbers_are_told_of_one(cause_of):
    told = cause_of(*waiting((1, 87, 90, 2), (4, 87, 88, 2))).summary
    assert "Each had" not in told


def test_call_goes_before_its_number(cause_of):
    told = cause_of(*waiting((1, 87, 90, 2), (4, 87, 90, 2), with_call=True)).summary
    assert told.startswith("Ranks 1,4 waited in ALLREDUCE 87 for 10 min and gave up. Each had completed 86")


# ── the same device again ───────────────────────────────────────────────────────────────────────────────────────────

ERRORS = (
    "ERROR: GPU 5 returned no data",
    "ERROR: reset of GPU 5 failed",
    "RuntimeError: CUDA error: unspecified launch failure",
    "ERROR: GPU 5 fell out of the pool",
)


def test_device_of_several_errors_is_told_once(cause_of):
    assert "GPU 5 is named in 3 of 4 errors." in cause_of(*ERRORS).summary


@pytest.mark.parametrize(
    "lines", [ERRORS[1:], (*ERRORS, "ERROR: GPU 4 returned no data"), (ERRORS[2], *[ERRORS[0]] * 4)]
)
def test_device_is_not_told_of_few_or_equal_errors(cause_of, lines):
    assert "is named in" not in cause_of(*lines).summary


# ── which settings chose the transport ──────────────────────────────────────────────────────────────────────────────

PROXY = "gx4:2403:2736 [3] proxy.cc:1495 NCCL WARN [Proxy Service 3] Failed to execute operation Setup from rank 3, retcode 2"
SHOWN = "Set at the start of the log: "


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("+ export NCCL_SHM_DISABLE=1",), "NCCL_SHM_DISABLE=1"),
        (("gx4:2403:2403 [3] NCCL INFO NCCL_NET set by environment to AWS Libfabric.",), "NCCL_NET=AWS Libfabric"),
        (("NCCL_NET=Socket NCCL_IB_DISABLE=1 python train.py",), "NCCL_NET=Socket, NCCL_IB_DISABLE=1"),
    ],
)
def test_settings_that_choose_a_transport_are_told(cause_of, lines, told):
    assert SHOWN + told in cause_of(*lines, *HEALTHY, PROXY).summary


@pytest.mark.parametrize(
    "lines",
    [
        ("NCCL_DEBUG=WARN OMP_NUM_THREADS=8 python train.py",),
        ("gx9:77:77 [0] NCCL INFO NCCL_NET set by environment to Socket.",),
        ("I_MPI_FABRICS=ofi OMPI_MCA_btl=tcp python train.py",),
        ("NCCL_NET=IB NCCL_IB_HCA=mlx5 NCCL_P2P_DISABLE=0 NCCL_CROSS_NIC=0 python train.py",),
    ],
    ids=["no transport", "another process", "another family", "the list of a site"],
)
def test_other_settings_are_not_told(cause_of, lines):
    assert SHOWN not in cause_of(*lines, *HEALTHY, PROXY).summary


# ── the file in the line below an error ─────────────────────────────────────────────────────────────────────────────

FILELESS = (
    "OSError: [Errno 28] No space left on device:",
    "wave: shmem: error: cannot attach segment: No space left on device (28)",
    "OSError: [Errno 122] Disk quota exceeded",
)
FILES = ("  /data/run7/wave.0", "'/data/run7/wave.0'", "path: /data/run7/wave.0", "while writing /data/run7/wave.0")


@pytest.mark.parametrize("error", FILELESS)
@pytest.mark.parametrize("file", FILES)
def test_file_in_the_line_below_an_error_is_told(cause_of, error, file):
    assert "`/data/run7/wave.0`" in cause_of(error, file).summary


@pytest.mark.parametrize("error", FILELESS)
@pytest.mark.parametrize(
    "below",
    [
        ("[rank4]: /data/run7/wave.0",),
        ("", "reading the next part", "/data/run7/wave.0"),
        ("  at /data/run7/wave.py:31",),
        ("wrote /data/run7/wave.0 before",),
    ],
    ids=["another process", "further below", "frame", "sentence"],
)
def test_other_lines_below_an_error_name_no_file(cause_of, error, below):
    error = f"[rank0]: {error}" if below[0].startswith("[rank4]") else error
    assert "/data/run7/wave" not in cause_of(error, *below).summary


def test_error_that_names_its_file_needs_no_other_line(cause_of):
    told = cause_of("OSError: [Errno 28] No space left on device: '/data/a.h5'", "  /data/run7/wave.0").summary
    assert "/data/run7/wave.0" not in told


@pytest.mark.parametrize(("held", "is_sure"), [(10700, False), (8100, True)])
def test_a_rest_that_may_be_of_cuda_itself_is_no_other_process(cause_of, held, is_sure):
    message = OLD.format(wanted=900, total=15360, used=held - 400, free=512, held=held)
    cause = cause_of(f"RuntimeError: {message}")
    assert ("Other processes hold" in cause.summary, "beside PyTorch" in cause.summary) == (is_sure, not is_sure)
    assert ("micro batch" in cause.steps[0].text) == (not is_sure)

"""A complaint after which the program works on is no failure, and one that ends it still is."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus_cases import CORPUS, healthy_cases
from failing_job import diagnose_log
from rule_texts import BOOK

from logdoctor import diagnose
from logdoctor.model import Line, Record, Source
from logdoctor.reasoning.findings.symptoms import _allows

RULER = "-" * 74
COMPLAINTS = {
    "cma": "[k7n12:02117] Read -1, expected 131072, errno = 1",
    "ofi": f"{RULER}\nOpen MPI failed an OFI Libfabric library call (fi_domain).  This is highly\n"
    "unusual; your job may behave unpredictably (and/or abort) after this.\n\n  Local host: k7n12\n"
    f"  Location: mtl_ofi_component.c:936\n  Error: Function not implemented (38)\n{RULER}",
    "openib": f"{RULER}\nWARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   k7n12\n"
    f"  Local device: mlx5_0\n{RULER}",
    "shmem": "shmem: mmap: an error occurred while determining whether or not "
    "/scratch/ompi.k7n12.1009/jf.0/1/sm_segment.k7n12.1.0 could be created.",
    "ucx": "[1795275900.120001] [k7n12:4410 :0]     ucp_context.c:1014 UCX  WARN  network device 'mlx5_3:1' is not "
    "available, please use one or more of: 'ib0'(tcp), 'lo'(tcp)",
    "nccl plugin": "k7n12:811:902 [0] NCCL INFO NET/Plugin : Plugin load returned 11 : libnccl-net.so: cannot open "
    "shared object file: No such file or directory : when loading libnccl-net.so",
    "tracker": "wandb: Network error (ConnectTimeout), entering retry loop.",
    "hub": "'(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: "
    "/acme/tok/resolve/main/config.json\"))' thrown while requesting HEAD "
    "https://huggingface.co/acme/tok/resolve/main/config.json\nRetrying in 1s [Retry 1/5].",
    "tokenizers": "huggingface/tokenizers: The current process just got forked, after parallelism has already been "
    "used. Disabling parallelism to avoid deadlocks...",
    "triton": "Warning: The cache directory for DeepSpeed Triton autotune, /home/lena/.triton/autotune, appears to be "
    "on an NFS system. While this is generally acceptable, if you experience slowdowns or hanging when DeepSpeed "
    "exits, it is recommended to set the TRITON_CACHE_DIR environment variable to a non-NFS path.",
    "libfabric": "libfabric:4410:1795275900::core:core:fi_getinfo_():1353<warn> fi_getinfo: provider efa returned -61 "
    "(No data available)",
    "pmix": "[k7n12:04410] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168",
    "cuda on a CPU": "2026-11-21 09:00:01.100000: E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] "
    "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device "
    "is detected",
    "munge": "slurmstepd: error: If munged is up, restart with --num-threads=10",
    "nfs": "nfs: server nas01 not responding, still trying\nnfs: server nas01 OK",
}
"""Complaints of programs that go on without it, or try again."""
WORK = [
    " Assembling the matrix of zone           1",
    " Assembling the matrix of zone           2",
    " Pressure solve, residual   3.1120E-07",
    " Wrote the field to out/p.h5",
]
"""Lines that no format knows."""
FALLS_BACK = ("cma", "ofi", "shmem")
ENDS = {
    "aborted": "[k7n12:02117] *** An error occurred in MPI_Allreduce\n[k7n12:02117] *** MPI_ERR_OTHER: known error not in "
    "list\n[k7n12:02117] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
    "[k7n12:02117] ***    and potentially your MPI job)",
    "exit code": f"{RULER}\nmpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n  Process name: [[2211,1],1]\n  Exit code:    1\n"
    f"{RULER}",
    "its own words": " cannot continue without a transport, giving up",
    "silence": "",
}


def verdict(*lines: str, knowledge) -> str:
    return diagnose_log("\n".join(filter(None, lines)) + "\n", knowledge).verdict


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaint_with_work_after_it_is_no_failure(name, knowledge):
    assert verdict(WORK[0], COMPLAINTS[name], *WORK[1:], WORK[0], knowledge=knowledge) in (
        "nothing-to-judge",
        "no-end-seen",
    )


@pytest.mark.parametrize("name", FALLS_BACK)
@pytest.mark.parametrize("end", ENDS)
def test_complaint_that_ends_the_program_is_a_failure(name, end, knowledge):
    work = WORK[:3] if ENDS[end] else WORK[:1]
    assert verdict(COMPLAINTS[name], *work, ENDS[end], knowledge=knowledge) == "failed"


@pytest.mark.parametrize("name", FALLS_BACK)
def test_answer_names_the_complaint_that_did_no_harm_and_how_to_silence_it(name, knowledge):
    log = "\n".join((COMPLAINTS[name], *WORK))
    (seen,) = diagnose_log(log + "\n", knowledge).symptoms
    assert seen.refuted_by.line.text == WORK[-1]
    assert seen.silence


def disturbed(case: Path, folder: Path) -> list[str]:
    """Return the logs of a case with each complaint put above another of its working lines."""
    logs = sorted(path for path in case.rglob("*") if path.suffix in (".log", ".txt", ".out", ".err"))
    for log in logs:
        lines, left = log.read_text("utf-8", "replace").splitlines(keepends=True), [*COMPLAINTS.values()]
        out = list[str]()
        for at, line in enumerate(lines):
            if left and "step" in line and at < len(lines) * 2 // 3:
                out.append(left.pop() + "\n")
            out.append(line)
        (folder / log.name).write_text("".join(out))
    return [str(folder / log.name) for log in logs]


@pytest.mark.parametrize("case", healthy_cases(), ids=lambda case: case.name)
def test_complaints_between_the_steps_change_no_verdict(case, tmp_path, knowledge):
    before = diagnose([str(CORPUS / case.name)], knowledge=knowledge).verdict
    assert diagnose(disturbed(case, tmp_path), knowledge=knowledge).verdict == before


FALL_BACK = "mpi.fabric mpi.shm-cma mpi.binding net.ib-setup net.ib-memlock net.plugin nccl.nvls nccl.topology cuda.driver app.compile"


@pytest.mark.parametrize("signature", FALL_BACK.split())
def test_rule_of_a_thing_that_falls_back_claims_that_the_program_gave_up(signature):
    rules = [rule for rule in BOOK.rules if rule.signature == signature]
    assert rules
    assert [rule.id for rule in rules if "gave_up" not in {claim.name for claim in rule.claims}] == []


BY_LEVEL = [symptom for rule in BOOK.rules for symptom in rule.symptoms if symptom.level and symptom.kind is None]


@pytest.mark.parametrize("level", [None, "info", "warning", "error", "fatal"])
def test_line_without_a_level_passes_each_symptom_and_another_only_its_own(level):
    bare = Record(Line("a.log", 1, ""), "text", "text.line", "", Source(level=level), level or "info")
    passing = [s for s in BY_LEVEL if s.format is None and _allows(s, (bare.kind, bare.format, bare.told_level))]
    assert passing == [s for s in BY_LEVEL if s.format is None and (level is None or level in s.level)]
    assert passing or level == "info"


OF_OTHERS = {
    "NCCL": ["k7n12:811:902 [0] NCCL INFO Connected all rings", "k7n12:811:902 [0] NCCL INFO Connected all trees"],
    "kernel": ["[  812.004211] usb 1-1: new device found", "[  813.104215] perf: interrupt took too long"],
    "next command": ["lena@k7n12:~/run$ ./other.sh", *WORK],
}


@pytest.mark.parametrize("lines", OF_OTHERS.values(), ids=OF_OTHERS)
def test_line_of_a_library_the_kernel_or_another_command_is_no_work(lines, knowledge):
    assert verdict(WORK[0], COMPLAINTS["cma"], *lines, *lines, knowledge=knowledge) == "failed"

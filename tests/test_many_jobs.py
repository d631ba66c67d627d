"""A folder of many jobs is refused by `diagnose`, a folder of one job never. A scan sees the same jobs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from command_line import call

from logdoctor.archive import Filters, Plan, Scan, find_jobs
from logdoctor.inputs.many_jobs import find_jobs_in_folder
from logdoctor.pipeline.diagnosis import diagnose

CORPUS = Path(__file__).parent.parent / "corpus"
OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
STEPS = "step 1/2 loss 3.1\nstep 2/2 loss 2.9\n"
DMESG = "[ 8123.4] usb 1-1: new high-speed USB device number 4 using xhci_hcd\n"


def write(folder: Path, files: Mapping[str, str] | Iterable[str]) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(files[name] if isinstance(files, Mapping) else STEPS)
    return folder


def nccl(host: str) -> str:
    return f"{host}:4711:4711 [0] NCCL INFO Bootstrap : Using ib0:10.0.0.7<0>\n{STEPS}"


ONE_JOB: dict[str, Mapping[str, str] | Iterable[str]] = {
    "1,024 rank files": [f"rank_{n}.log" for n in range(1024)],
    "files that only a number tells apart": [f"train.{n}.log" for n in range(40_000, 40_008)],
    "two attempts": ["attempt_0/0/stderr.log", "attempt_1/0/stderr.log"],
    "two attempts in files": ["train_attempt0.log", "train_attempt1.log"],
    "rotated logs": ["train.log", "train.log.1", "train.log.2"],
    "stdout and stderr": ["slurm-48213.out", "slurm-48213.err"],
    "stdout and stderr of each task": [f"job.48213-{n}.{end}" for n in range(8) for end in ("out", "err")],
    "stdout and stderr folders": ["stdout/0.log", "stderr/0.log"],
    "a folder per rank": [f"rank_{n}/out.log" for n in range(16)],
    "a folder per numbered rank": [f"{n}/out.log" for n in range(16)],
    "a folder per host with its ranks": [f"gpu-a{h:02}/rank{h * 8 + n}.log" for h in range(3) for n in range(8)],
    "a folder per host that names itself": {f"gpu-a{h:02}/train.log": nccl(f"gpu-a{h:02}") for h in range(3)},
    "a folder per host with the ranks in the text": {
        f"{name}/train.log": "".join(f"[rank{n}]: {STEPS}" for n in ranks)
        for name, ranks in (("sirius", range(8)), ("vega", range(8, 16)))
    },
    "a job with a kernel log per host": [
        "train.log",
        *(f"dmesg-gpu-a{h:02}.log" for h in range(3)),
        "slurm-48213.out",
    ],
    "a job with a folder of a kernel log per host": [
        "train.log",
        *(f"dmesg/gpu-a{h:02}.log" for h in range(3)),
    ],
    "loose files": ["train.log", "nccl.log", "dmesg.txt"],
    "a job with folders of its tools": ["train.log", "wandb/run-1/logs/debug.log", "checkpoints/step-1/x.log"],
    "files of NCCL per host and process": [f"nccl.gpu-a{h}.{4711 + h}.log" for h in range(4)],
    "dates in names": ["train-20260301.out", "train-20260302.out"],
}

MANY_JOBS: dict[str, Iterable[str]] = {
    "files of two Slurm jobs": ["slurm-48213.out", "slurm-48214.out"],
    "named files of Slurm jobs": [f"train-{n}.{end}" for n in (48213, 48214, 48215) for end in ("out", "err")],
    "array tasks": [f"train_555123_{n}.out" for n in range(1, 5)],
    "a folder per job": [f"exp-{name}/rank{n}.log" for name in ("a", "b", "c") for n in range(4)],
    "a folder per job, with its Slurm output": [f"{n}/slurm-{n}.out" for n in (48213, 48219)],
    "jobs below folders of days": ["2026-10-01/j1/x.log", "2026-10-01/j2/x.log", "2026-10-02/j3/x.log"],
    "runs of torchrun": ["a_abcd1234/attempt_0/0/stdout.log", "b_abcd1234/attempt_0/0/stdout.log"],
    "folders that are called jobs, with files of other names": ["job-4711/train.log", "job-4712/out.log"],
    "jobs in a folder of logs": ["logs/alpha/train.log", "logs/beta/train.log"],
}


@pytest.mark.parametrize("name", ONE_JOB)
def test_folder_of_one_job_is_not_refused(name, tmp_path):
    assert find_jobs_in_folder(str(write(tmp_path, ONE_JOB[name]))) == []


@pytest.mark.parametrize("name", MANY_JOBS)
def test_folder_of_many_jobs_is_refused_with_the_number_of_its_jobs(name, tmp_path):
    place = str(write(tmp_path, MANY_JOBS[name]))
    assert len(find_jobs_in_folder(place)) == len(find_jobs([place], Filters(), []))


@pytest.mark.parametrize("command", ["diagnose", "report"])
def test_command_on_many_jobs_proposes_a_scan_and_ends_with_2(command, tmp_path):
    place = write(tmp_path / "archive", [f"j{n}/train.log" for n in range(5)])
    options = ["-o", str(tmp_path / "r.html")] if command == "report" else []
    words = " ".join(call(command, place, *options, code=2).output.replace("│", " ").split())
    assert "these look like 5 jobs (j0, j1, j2, ...)" in words
    assert "logdoctor scan /" in words


def test_folders_that_the_user_names_are_one_job(tmp_path):
    place = write(tmp_path, [f"j{n}/train.log" for n in range(2)])
    call("diagnose", place / "j0", place / "j1")


def test_every_case_of_the_corpus_is_one_job():
    assert [case.name for case in CORPUS.iterdir() if case.is_dir() and find_jobs_in_folder(str(case))] == []


# ── a scan sees what a diagnosis sees ──


def scanned(place: Path, out: Path, filters: Filters | None = None) -> dict[str, tuple[object, ...]]:
    scan = Scan([str(place)], Plan(out), filters)
    list(scan.run())
    return {
        r.job: (r.verdict, r.signature, r.ranks, r.hosts, Path(r.proof_file).name, r.proof_line, r.files, r.lines)
        for r in scan.records()
    }


CASES = sorted(p for p in CORPUS.iterdir() if p.is_dir() and p.name not in ("lab", "device-assert-gather-ppo"))[::40]


def test_scan_gives_the_diagnosis_of_each_job_folder(tmp_path, knowledge):
    for case in CASES:
        (tmp_path / "archive").mkdir(exist_ok=True)
        (tmp_path / "archive" / case.name).symlink_to(case)
    records = scanned(tmp_path / "archive", tmp_path / "out", Filters(follow_links=True))
    for case in CASES:
        place = tmp_path / "archive" / case.name
        diagnosis = diagnose(str(place), knowledge=knowledge)
        cause = diagnosis.causes[0] if diagnosis.causes else None
        proof = next(iter(cause.evidence if cause else diagnosis.unexplained), None)
        assert records[str(place)] == (
            diagnosis.verdict,
            cause.signature if cause else diagnosis.verdict,
            cause.culprit.ranks if cause else (),
            cause.culprit.hosts if cause else (),
            Path(proof.line.file).name if proof else "",
            proof.line.number if proof else 0,
            diagnosis.coverage.files,
            diagnosis.coverage.lines,
        )


def test_number_in_a_file_name_is_no_job_of_its_own(tmp_path):
    names = [f"j1/worker.{n}.log" for n in (40_001, 40_002)]
    place = write(tmp_path, [*names, "j2/x.log"])
    assert [job.name for job in find_jobs([str(place)], Filters(), [])] == [f"{place}/j1", f"{place}/j2"]


@pytest.mark.parametrize(
    "names",
    [
        ["j/a-40001.log", "j/a-40001.txt", "j/b-40002.log", "j/b-40002.txt"],  # a second file agrees
        ["40001-40002/a-40001.log", "40001-40002/b-40002.log"],  # the folder agrees
    ],
)
def test_number_in_a_file_name_is_a_job_if_something_agrees(names, tmp_path):
    place = write(tmp_path, names)
    assert [Path(job.name).name for job in find_jobs([str(place)], Filters(), [])] == ["40001", "40002"]


def test_json_document_beside_the_logs_is_neither_a_job_nor_a_log(tmp_path):
    state = '{\n "last_error": "torch.OutOfMemoryError: CUDA out of memory."\n}\n'
    place = write(tmp_path / "jobs", {"a.log": STEPS, "state.json": state, "j/x.log": STEPS, "j/state.json": state})
    records = scanned(place, tmp_path / "out")
    assert {Path(job).name: row[1] for job, row in records.items()} == {"a": "finished", "j": "finished"}


def test_log_whose_lines_are_json_is_a_job(tmp_path):
    place = write(tmp_path / "jobs", {"a.json": '{"message": "step 1"}\n{"message": "step 2"}\n', "b.log": STEPS})
    assert [Path(job.name).name for job in find_jobs([str(place)], Filters(), [])] == ["a", "b"]


# ── links ──


def test_link_out_of_the_archive_is_told_and_not_read(tmp_path):
    secret = write(tmp_path / "home", {"x.log": OOM}) / "x.log"
    place = write(tmp_path / "jobs", {"j/a.log": STEPS})
    (place / "j" / "b.log").symlink_to(secret)
    scan = Scan([str(place)], Plan(tmp_path / "out"))
    assert [p.where for p in scan.problems] == [str(place / "j" / "b.log")]
    assert scanned(place, tmp_path / "out")[str(place / "j")][1] != "cuda.oom"
    assert scanned(place, tmp_path / "out2", Filters(follow_links=True))[str(place / "j")][1] == "cuda.oom"


def test_pipe_and_kernel_file_in_an_archive_end_no_scan(tmp_path):
    place = write(tmp_path / "jobs", {"j/a.log": OOM, "k/a.log": STEPS})
    os.mkfifo(place / "j" / "pipe.log")
    for file in ("kmsg", "self/mem"):
        (place / "j" / f"{file.replace('/', '-')}.log").symlink_to(f"/proc/{file}")
    records = scanned(place, tmp_path / "out", Filters(follow_links=True))
    assert records[str(place / "j")][1] == "cuda.oom"

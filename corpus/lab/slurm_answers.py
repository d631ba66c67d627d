"""Record what Slurm's commands answer about jobs that ended in many ways, for tests/slurm/ and tests/test_slurm.py.

python corpus/lab/slurm_answers.py [NAME...] (as root; see `slurm.PACKAGES` and `slurm.ACCOUNTING_PACKAGES`)

Each file holds the calls that `logdoctor slurm` made (arguments, exit code, both streams) and the files that the job
wrote, with the times of their last change. The folder of the job is told as @FOLDER@.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import LAB, Bench
from slurm import Cluster
from slurm_steps import STEP, fault

TARGET = LAB.parents[1] / "tests" / "slurm"
RECORDER = """\
#!/usr/bin/python3
import json, subprocess, sys
from pathlib import Path
here = Path(__file__)
done = subprocess.run(["/usr/bin/" + here.name, *sys.argv[1:]], capture_output=True, text=True)
call = {"call": [here.name, *sys.argv[1:]], "code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
with (here.parent / "calls.jsonl").open("a") as file:
    file.write(json.dumps(call) + "\\n")
sys.stdout.write(done.stdout)
sys.stderr.write(done.stderr)
sys.exit(done.returncode)
"""


class Recorder:
    """A cluster on which jobs are submitted, and the answers about them recorded."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.folder = cluster, cluster.bench.folder / "jobs"
        programs = cluster.bench.folder / "bin"
        programs.mkdir()
        for name in ("sacct", "scontrol", "squeue"):
            (programs / name).write_text(RECORDER)
            (programs / name).chmod(0o755)
        self.calls = programs / "calls.jsonl"

    def begin(self) -> None:
        """Empty the working directory of the jobs."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "logs").mkdir(parents=True)
        shutil.copy(LAB / "programs" / "tokenize_shards.py", self.folder)

    def submit(self, script: str, *options: str, env: dict[str, str] | None = None) -> int:
        (self.folder / "job.sbatch").write_text(f"#!/bin/bash\n{script}\n")
        settings = " ".join(f"{key}={value}" for key, value in (env or {}).items())
        words = " ".join(f"'{option}'" for option in options)
        said = self.cluster.quietly(f"cd {self.folder} && {settings} sbatch --parsable {words} job.sbatch")
        return int(said.split(";")[0])

    def write(self, name: str, job: int | str) -> None:
        """Ask about a job as `logdoctor slurm` does, and write the answers."""
        time.sleep(2)  # the last rows of the steps
        self.calls.unlink(missing_ok=True)
        ask = f"""import sys
sys.path.insert(0, {str(LAB.parents[1])!r})
from logdoctor.slurm.collecting import find_job, gather
job = find_job({str(job)!r})
gather(job, job.chosen)"""
        self.cluster.quietly(f"cd {self.folder} && {shlex.join([sys.executable, '-c', ask])}")
        files = {
            str(path.relative_to(self.folder)): [path.stat().st_mtime, path.read_text("utf-8", "replace")]
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name != "tokenize_shards.py"
        }
        calls = [json.loads(line) for line in self.calls.read_text("utf-8").splitlines()]
        text = json.dumps({"job": str(job), "calls": calls, "files": files}, indent=1, ensure_ascii=False)
        TARGET.mkdir(exist_ok=True)
        (TARGET / f"{name}.json").write_text(text.replace(str(self.folder), "@FOLDER@") + "\n", "utf-8")
        print(name, job, len(text), flush=True)


def steps(r: Recorder) -> None:
    """Two steps with files of their own for each task; task 2 of the second raises an exception."""
    second = STEP.format("--kill-on-bad-exit=1 -o logs/%x-%j-%s-%t-%N.log", "--shards 40")
    script = "#SBATCH -o logs/%x-%j.out\n#SBATCH -e logs/%x-%j.err\necho job $SLURM_JOB_ID on $SLURM_JOB_NODELIST\n"
    job = r.submit(
        script + STEP.format("-N1 -n1", "--shards 4") + f"\nexport LAB_FAULT=key LAB_RANK=2\n{second}",
        *("-N2", "-n4", "-J", "tokenize"),
    )
    r.cluster.wait(job)
    r.write("steps", job)


def array(r: Recorder) -> None:
    """Task 2 of an array fails."""
    script = "[ $SLURM_ARRAY_TASK_ID = 2 ] && export LAB_FAULT=key LAB_RANK=0\n" + STEP.format("", "--shards 8")
    job = r.submit(script, "-n1", "--array=0-3", "-o", "logs/%A_%a.out")
    r.cluster.wait(job)
    time.sleep(4)
    r.write("array", job)
    r.write("array-task", f"{job}_1")


def memory(r: Recorder) -> None:
    """A step takes more memory than the job has."""
    job = r.submit(STEP.format("-n2", "--shards 20"), "-N1", "-n2", "--mem=100M", env=fault("memory", 0))
    r.cluster.wait(job)
    r.write("memory", job)


def no_folder(r: Recorder) -> None:
    """The folder of the output is not there."""
    job = r.submit("echo hello", "-n1", "-o", "missing/%j.out")
    r.cluster.wait(job)
    r.write("no-folder", job)


def completed(r: Recorder) -> None:
    """All went well. The name of the job and the names of its files have blanks and bars."""
    job = r.submit(
        "srun -o 'logs/%J-%4t.log' echo one\nsrun --output=logs/eq-%j.%s.log -e logs/eq.err echo two",
        *("-n2", "-J", "two steps|one job", "-o", "logs/%x_%N_%n_%t_%s_%5j.out"),
    )
    r.cluster.wait(job)
    r.write("completed", job)


def swallowed(r: Recorder) -> None:
    """A step fails, and the script ends well all the same."""
    job = r.submit(STEP.format("-n2", "--shards 20") + "\necho all done", "-n2", env=fault("key", 1))
    r.cluster.wait(job)
    r.write("swallowed", job)


def time_limit(r: Recorder) -> None:
    job = r.submit(STEP.format("-l", "--shards 4000 --pause 0.8"), "-N2", "-n2")
    r.cluster.wait(job, "RUNNING")
    time.sleep(4)
    r.write("running", job)
    r.cluster.end_now(job)
    r.cluster.wait(job)
    r.write("time-limit", job)


def cancelled(r: Recorder) -> None:
    job = r.submit(STEP.format("-l", "--shards 4000 --pause 0.8"), "-N2", "-n2")
    r.cluster.wait(job, "RUNNING")
    time.sleep(4)
    r.cluster.quietly(f"scancel {job}")
    r.cluster.wait(job)
    r.write("cancelled", job)


def requeued(r: Recorder) -> None:
    """The first run is put back into the queue, the second one fails."""
    script = '[ "$SLURM_RESTART_COUNT" = 1 ] && export LAB_FAULT=key LAB_RANK=1\necho attempt $SLURM_RESTART_COUNT\n'
    script += STEP.format("-l", "--shards 400 --pause 0.4")
    job = r.submit(script, "-n2", "--requeue", "--open-mode=append")
    r.cluster.wait(job, "RUNNING")
    time.sleep(3)
    r.cluster.quietly(f"scontrol requeue {job}")
    time.sleep(5)
    r.cluster.quietly(f"scontrol update jobid={job} StartTime=now")
    r.cluster.wait(job, "FAILED", 150)
    r.write("requeued", job)


def parts(r: Recorder) -> None:
    """A heterogeneous job of two parts."""
    (r.folder / "first.sh").write_text("")
    job = r.submit("srun -l --het-group=0,1 hostname; exit 7", "-n1", "-N1", "-o", "logs/het-%j.out", ":", "-n1", "-N1")
    r.cluster.wait(job)
    r.write("parts", job)


def waiting(r: Recorder) -> None:
    """One job is held by its user, and one waits for a job that failed."""
    failed = r.submit("exit 1", "-n1", "-o", "/dev/null")
    r.cluster.wait(failed)
    job = r.submit("srun hostname", "-n1", f"--dependency=afterok:{failed}")
    time.sleep(4)
    r.write("never-satisfied", job)
    job = r.submit("srun hostname", "-n1", "--hold")
    time.sleep(3)
    r.write("held", job)


def node_lost(r: Recorder) -> None:
    """The second node dies. It comes last, because the node stays away."""
    job = r.submit(STEP.format("-l", "--shards 4000 --pause 0.8"), "-N2", "-n2", "-w", "node[03-04]", "--no-requeue")
    r.cluster.wait(job, "RUNNING")
    time.sleep(4)
    node = r.cluster.nodes["node04"]
    node.sh("ip link set eth0 down")
    for process in node.processes()[1:]:
        r.cluster.quietly(f"kill -9 {process}")
    r.cluster.wait(job)
    r.write("node-lost", job)


def unknown(r: Recorder) -> None:
    r.write("unknown", 99999)


SCENARIOS: tuple[Callable[[Recorder], None], ...] = (
    steps, array, memory, no_folder, completed, swallowed, time_limit, cancelled, requeued, parts, waiting, unknown,
    node_lost,
)  # fmt: skip


def main() -> None:
    bench = Bench(Path("/var/tmp/lab/slurm-answers"), None, 900)
    try:
        recorder = Recorder(Cluster(bench, nodes=4, more="MinJobAge=3600", accounting=True))
        for scenario in SCENARIOS:
            if not sys.argv[1:] or scenario.__name__ in sys.argv[1:]:
                recorder.begin()
                scenario(recorder)
    finally:
        bench.clear()


if __name__ == "__main__":
    main()

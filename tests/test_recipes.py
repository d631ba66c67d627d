"""Scripts of docs/recipes.md, run with the real logdoctor and stand-ins for Slurm, kubectl, curl and the training."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from failing_job import HEALTHY, LOG, UNKNOWN

from logdoctor.cli.diagnosing import EXIT_CODES

pytestmark = [
    pytest.mark.usefixtures("clean_environment"),
    pytest.mark.skipif(not all(map(shutil.which, ("bash", "jq"))), reason="needs bash and jq"),
]

PAGE = (Path(__file__).parent.parent / "docs" / "recipes.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
(JOB,) = (yaml.safe_load(text) for language, text in BLOCKS if language == "yaml")


def block(mark: str) -> str:
    """Return the script that holds ``mark``."""
    (text,) = (text for language, text in BLOCKS if language in ("sh", "bash") and mark in text)
    return text


def commands(mark: str) -> str:
    """Return the indented commands that hold ``mark``."""
    found = (
        text for text in re.findall(r"(?:^ {4}.*\n)+", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL), re.MULTILINE)
    )
    (text,) = (text for text in found if mark in text)
    return text


SCONTROL = """\
#!/bin/sh
case $1 in
show) [ "$3" = 48213 ] && cat facts && exit ;;
*) echo "$*" >> calls && [ "$1" != "${REFUSED:-}" ] && exit ;;
esac
echo "slurm error" >&2
exit 1
"""
FACTS = """\
JobId=48213 JobName=pretrain
   UserId=ada(1001) GroupId=ada(1001) MCS_label=N/A
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=1 Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode=1:0
   RunTime=00:12:01 TimeLimit=01:00:00 TimeMin=N/A
   ReqNodeList=(null) ExcNodeList={excluded}
   NodeList=trn[04-07]
   StdErr={err}
   StdIn=/dev/null
   StdOut={out}
   Power=
"""


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """Enter a folder with stand-ins on the PATH. A stand-in that only notes its call writes it into ``calls``."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    program(programs / "logdoctor", f'#!/bin/sh\nexec {sys.executable} -m logdoctor "$@"\n')
    program(programs / "scontrol", SCONTROL)
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def run(script: str, *args: str, by: str = "sh", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [by, "-c", script, by, *args],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
        timeout=120,
    )


def calls(site: Path) -> list[str]:
    file = site / "calls"
    return file.read_text().splitlines() if file.exists() else []


# ── Slurm ──

HOSTS = ("trn04", "trn05", "trn06", "trn07")
STEPS = "".join(f"step {n}: loss {3.1 - n / 1000:.3f}\n" for n in range(400, 441))
TRACE = '[rank2]: Traceback (most recent call last):\n[rank2]:   File "/srv/exp/pretrain.py", line 88, in <module>\n'
PASSES = STEPS + TRACE + "[rank2]: OSError: [Errno 116] Stale file handle: '/data/shards/0017.bin'\n"
SICK_HOST = (
    "".join(f"{host}:{8100 + n}:{8100 + n} [0] NCCL INFO cudaDriverVersion 12040\n" for n, host in enumerate(HOSTS))
    + "".join(
        f"{host}:{8100 + n}:{8300 + n} [0] NCCL INFO comm 0x5581aa0 rank {n} nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 "
        "commId 0x9a3fce12 - Init COMPLETE\n"
        for n, host in enumerate(HOSTS)
    )
    + STEPS
    + TRACE
    + "[rank2]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
)
OVER = "slurmstepd: error: *** JOB 48213 ON trn04 CANCELLED AT 2025-06-11T10:02:11 DUE TO TIME LIMIT ***\n"


@pytest.fixture
def job(site):
    """Return a function that lets the Slurm job 48213 end with a log."""
    out = site / "slurm-48213.out"

    def end(
        log: str, *, state: str = "FAILED", reason: str = "NonZeroExitCode", restarts: int = 0, **facts: object
    ) -> Path:
        out.write_text(log)
        given = {"state": state, "reason": reason, "restarts": restarts, "excluded": "(null)", "err": out, "out": out}
        (site / "facts").write_text(FACTS.format(**{**given, **facts}))
        return out

    return end


def requeue(job: str = "48213", **env: str) -> subprocess.CompletedProcess[str]:
    return run(block("# requeue.sh"), job, **env)


def test_job_whose_failure_passes_is_started_again_and_its_log_is_kept(site, job):
    out = job(PASSES)
    assert requeue().returncode == 0
    assert calls(site) == ["requeue 48213"]
    assert Path(f"{out}.attempt0").read_text() == PASSES


def test_job_is_not_started_again_for_the_same_cause_at_the_same_step(site, job):
    job(PASSES)
    requeue()
    job(PASSES, restarts=1)
    assert requeue().returncode == 1
    assert calls(site) == ["requeue 48213"]


def test_job_is_started_again_for_the_same_cause_if_it_got_further(site, job):
    job(PASSES)
    requeue()
    job(PASSES.replace("step 440", "step 480"), restarts=1)
    assert requeue().returncode == 0
    assert calls(site) == ["requeue 48213"] * 2


def test_job_is_not_started_again_without_end(site, job):
    job(PASSES, restarts=5)
    assert requeue().returncode == 1
    assert calls(site) == []


@pytest.mark.parametrize(("excluded", "hosts"), [("(null)", "trn06"), ("trn01", "trn01,trn06")])
def test_job_is_started_again_without_the_sick_host(site, job, excluded, hosts):
    job(SICK_HOST, excluded=excluded)
    assert requeue().returncode == 0
    assert calls(site) == ["requeuehold 48213", f"update JobId=48213 ExcNodeList={hosts}", "release 48213"]


def test_job_stays_held_if_slurm_does_not_take_the_host_out(site, job):
    job(SICK_HOST)
    assert requeue(REFUSED="update").returncode == 1
    assert "release 48213" not in calls(site)


@pytest.mark.parametrize("log", [LOG, UNKNOWN, HEALTHY, OVER, STEPS])
def test_job_that_a_program_must_not_start_is_left(site, job, log):
    job(log)
    done = requeue()
    assert (done.returncode, done.stdout.startswith("job 48213: ")) == (1, True)
    assert calls(site) == []


def test_job_that_is_in_the_queue_again_is_left(site, job):
    job(PASSES, state="PENDING")
    assert (requeue().returncode, calls(site)) == (0, [])


def test_without_an_answer_no_job_is_started(site, job):
    assert requeue("1").returncode == 3
    job(PASSES).unlink()
    assert (requeue().returncode, calls(site)) == (3, [])


def test_epilog_is_the_one_that_we_ship():
    shipped = Path(__file__).parent.parent / "integrations" / "slurm" / "epilog.sh"
    assert block("# Epilog of the controller") == shipped.read_text("utf-8")


@pytest.mark.parametrize(("code", "answered"), [(1, True), (0, False)])
def test_job_script_diagnoses_its_own_log_if_the_training_failed(site, code, answered):
    (site / "slurm-48213.out").write_text(PASSES)
    program(site / "bin" / "srun", f"#!/bin/sh\nexit {code}\n")
    assert run(block("srun python"), SLURM_JOB_ID="48213").returncode == code
    answer = site / "diagnosis-48213.txt"
    assert answer.exists() == answered
    assert not answered or "Stale file handle" in answer.read_text()


# ── a chat, Kubernetes ──


def test_line_in_a_chat_tells_decision_sentence_and_proof(site):
    (site / "slurm-48213.out").write_text(LOG)
    program(site / "bin" / "curl", '#!/bin/sh\necho "$*" > calls\ncat > message\n')
    assert run(commands("curl"), WEBHOOK="https://chat.example/hook").returncode == 0
    text = json.loads((site / "message").read_text())["text"]
    assert re.fullmatch(r"resubmit-with-changes: GPU 3 .+ \(slurm-48213\.out:\d+\)", text)
    assert calls(site)[0].endswith("https://chat.example/hook")


def diagnosed(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return run(block("# diagnosed.sh"), *command, by="bash", LOG="train.log", MESSAGE="message", **env)


@pytest.mark.parametrize(("log", "code"), [(PASSES, 11), (SICK_HOST, 12), (LOG, 13), (UNKNOWN, 15)])
def test_container_exits_with_the_decision(site, log, code):
    (site / "given").write_text(log)
    done = diagnosed("sh", "-c", "cat given; exit 1")
    assert (done.returncode, done.stdout) == (code, log)
    decision = (site / "message").read_text().split("\t")[0]
    assert EXIT_CODES[decision] == code


def test_container_that_ends_well_exits_with_0(site):
    done = diagnosed("echo", "all done")
    assert (done.returncode, done.stdout, (site / "message").exists()) == (0, "all done\n", False)


def test_container_keeps_the_exit_code_of_the_training_if_there_is_no_answer(site):
    program(site / "bin" / "logdoctor", "#!/bin/sh\nexit 70\n")
    assert diagnosed("sh", "-c", "exit 7").returncode == 7


def test_training_in_the_container_gets_the_order_to_end(site):
    (site / "diagnosed.sh").write_text(block("# diagnosed.sh"))
    training = "trap 'echo saved; exit 0' TERM; touch started; while :; do sleep 0.1; done"
    with subprocess.Popen(
        ["bash", "diagnosed.sh", "sh", "-c", training], env={**os.environ, "LOG": "train.log"}
    ) as container:
        limit = time.monotonic() + 30
        while not (site / "started").exists() and time.monotonic() < limit:
            time.sleep(0.05)
        container.send_signal(signal.SIGTERM)
        assert container.wait(30) == 0
    assert (site / "train.log").read_text() == "saved\n"


def test_kubernetes_ends_the_job_for_every_decision_that_forbids_a_start():
    failing = next(rule for rule in JOB["spec"]["podFailurePolicy"]["rules"] if rule["action"] == "FailJob")
    forbidden = {code for decision, code in EXIT_CODES.items() if not decision.startswith("requeue")}
    assert set(failing["onExitCodes"]["values"]) == forbidden
    pod = JOB["spec"]["template"]["spec"]
    assert failing["onExitCodes"]["containerName"] == pod["containers"][0]["name"]
    assert pod["restartPolicy"] == "Never"


def test_job_of_several_pods_is_diagnosed_from_outside(site):
    prefixed = "".join(f"[pod/pretrain-1-9qqlm/train] {line}\n" for line in LOG.splitlines())
    text = f"#!/bin/sh\n[ \"$1\" = logs ] || exit 0\ncat <<'END'\n{prefixed}END\n"
    program(site / "bin" / "kubectl", text)
    done = run(commands("kubectl logs"))
    assert "rank 3 on pretrain-1-9qqlm" in done.stdout

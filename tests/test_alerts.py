"""Messages about failures: what they say, to whom, and that they change nothing else."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

import logdoctor
from logdoctor.alerts import Alerts, QuietHours, SentMessages, kind_of, make_message
from logdoctor.archive.jobs import JobFiles
from logdoctor.archive.record import as_diagnosis, make_record

needs_apprise = pytest.mark.skipif(find_spec("apprise") is None, reason="apprise is not installed")
OOM = (
    "[gpu-a07:rank3]: step 1/9 loss 2.1\n"
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. @everyone at alice@example.org\n"
)
FAILING = "import sys; print('step 1/9 loss 2.1', flush=True); open('/no/such/data.bin')"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch) -> Path:
    """Let no test know what others sent."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOGDOCTOR_CONFIG", "")
    monkeypatch.delenv("LOGDOCTOR_NOTIFY", raising=False)
    return tmp_path / "state" / "logdoctor" / "alerts"


@pytest.fixture
def inbox() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve a webhook. Yield its apprise URL and the messages that it got."""
    got: list[dict[str, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"json://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()


@pytest.fixture
def diagnosis():
    return logdoctor.diagnose(text=OOM, name="slurm-48213.out")


def command(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "logdoctor", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **env})


def test_message_tells_decision_cause_rank_proof_and_page(diagnosis):
    title, body = make_message(diagnosis, "failure.html")
    assert title.startswith(f"✗ slurm-48213.out: {diagnosis.decision.headline} — ")
    assert "cuda.oom" in body
    assert "rank 3" in body
    assert "<text>:2: " in body
    assert body.endswith("\nfailure.html")


def test_message_is_redacted_unless_names_are_wanted(diagnosis):
    assert "alice" not in make_message(diagnosis).body
    assert "alice" in make_message(diagnosis, names=True).body


def test_text_of_a_log_calls_nobody_in_a_chat(diagnosis):
    assert "@everyone" not in make_message(diagnosis, names=True).body


@pytest.mark.parametrize(
    ("hours", "at", "quiet"),
    [("22:00-07:00", 23, True), ("22:00-07:00", 6, True), ("22:00-07:00", 7, False), ("9:00-17:30", 17, True)],
)
def test_quiet_hours_may_go_over_midnight(hours, at, quiet):
    assert QuietHours.read(hours).hold_at(datetime(2026, 11, 29, at, 15)) is quiet  # noqa: DTZ001 - local time is meant


@pytest.mark.parametrize("hours", ["", "22-7", "24:00-07:00", "22:00-07:60"])
def test_faulty_quiet_hours_are_refused(hours):
    with pytest.raises(ValueError, match="is not like 22:00-07:00"):
        QuietHours.read(hours)


def test_job_and_cause_are_told_once_by_all_commands():
    assert SentMessages(20).add("48213\ncuda.oom") is None
    assert SentMessages(20).add("48213\ncuda.oom") == ""
    assert SentMessages(20).add("48213\ncuda.ecc") is None
    assert SentMessages(20).add("48214\ncuda.oom") is None


def test_limit_an_hour_holds_for_all_commands():
    assert [SentMessages(2).add(str(i)) for i in range(3)] == [
        None,
        None,
        "2 were sent within an hour, which is the limit",
    ]


def test_messages_are_sent_without_a_folder_for_the_state(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert SentMessages(1).add("48213\ncuda.oom") is None


def test_damaged_state_is_read_past(state):
    state.parent.mkdir(parents=True)
    state.write_bytes(b"\xff\xfe\n1 2 3\nnan x\n\n")
    assert SentMessages(1).add("48213\ncuda.oom") is None


def test_secrets_of_a_target_are_masked():
    assert kind_of("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ") == "slack://..."
    assert kind_of("hook.example/secret") == "no URL"


def test_missing_extra_says_how_to_get_it(monkeypatch, diagnosis):
    monkeypatch.setattr("logdoctor.alerts.find_spec", lambda _: None)
    told: list[str] = []
    assert not Alerts(["json://localhost"], told.append).send(diagnosis, "job")
    assert told == ["no message can be sent: apprise is not installed; pip install 'logdoctor[notify]'"]


def test_record_of_a_scan_gives_the_message_of_its_diagnosis(diagnosis):
    record = make_record(JobFiles("logs/slurm-48213.out", (), "name", 0, "", 0.0), diagnosis)
    ours, theirs = make_message(as_diagnosis(record)), make_message(diagnosis)
    assert ours.body.splitlines()[-1] == theirs.body.splitlines()[-1]
    assert ours.title.partition(" — ")[2] == theirs.title.partition(" — ")[2]


@needs_apprise
def test_message_arrives_once(inbox, diagnosis):
    url, got = inbox
    told: list[str] = []
    assert Alerts([url], told.append).send(diagnosis, "job")
    assert not Alerts([url], told.append).send(diagnosis, "job")
    assert [(message["title"], message["message"]) for message in got] == [make_message(diagnosis)]
    assert not told


@needs_apprise
def test_failing_target_is_told_without_its_secrets_and_may_be_tried_again(diagnosis, state):
    told: list[str] = []
    targets = ["json://user:secret@127.0.0.1:9/token", "nonsense://secret"]
    assert not Alerts(targets, told.append).send(diagnosis, "job")
    assert [line.partition(" got no message")[0] for line in told] == [
        "target 1 (json://...)",
        "target 2 (nonsense://...)",
    ]
    assert "secret" not in "".join(told)
    assert not state.read_text()


@needs_apprise
def test_quiet_hours_and_the_limit_hold_messages_back(inbox, diagnosis):
    url, got = inbox
    told: list[str] = []
    assert not Alerts([url], told.append, quiet=QuietHours.read("0:00-23:59")).send(diagnosis, "job")
    SentMessages(20).add("another")
    assert not Alerts([url], told.append, most=1).send(diagnosis, "job")
    assert (len(told), got) == (2, [])


@needs_apprise
def test_run_sends_a_message_and_keeps_its_exit_code(inbox):
    url, got = inbox
    sent = command("run", "--notify", url, "--notify", "json://127.0.0.1:9", "--", sys.executable, "-c", FAILING)
    assert sent.returncode == 1
    assert "data.bin" in got[0]["message"]
    assert "target 2 (json://...) got no message" in sent.stderr


@needs_apprise
def test_watch_sends_a_message_of_a_failure(inbox, tmp_path):
    url, got = inbox
    (tmp_path / "train.log").write_text(OOM)
    page = tmp_path / "page.html"
    words = ("watch", str(tmp_path / "train.log"), "--exit-on", "failed", "--every", "0.1", "--report", str(page))
    assert command(*words, "--notify", url).returncode == 1
    assert "cuda.oom" in got[0]["message"]
    assert "<html" in page.read_text("utf-8")


@needs_apprise
def test_scan_sends_a_message_of_each_failed_job_by_its_settings(inbox, tmp_path):
    url, got = inbox
    for name, text in (("a", OOM), ("b", "step 1/9 loss 2.1\n"), ("c", OOM)):
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "job.log").write_text(text)
    (tmp_path / "config.toml").write_text(f'notify = ["{url}"]\nnotify-limit = 9\n')
    words = ("scan", str(tmp_path / "jobs"), "-w", "1", "--config", str(tmp_path / "config.toml"))
    assert [command(*words).returncode for _ in range(2)] == [0, 0]
    assert sorted(message["title"].split(":")[0] for message in got) == ["✗ a", "✗ c"]


def _commands(page: str) -> list[list[str]]:
    text = (Path(__file__).parent.parent / "docs" / page).read_text("utf-8")
    return [shlex.split(line) for line in text.splitlines() if line.startswith("    logdoctor ")]


@needs_apprise
@pytest.mark.parametrize("words", _commands("alerts.md"), ids=lambda words: words[1])
def test_commands_of_the_page_send_their_messages(words, inbox, tmp_path):
    url, got = inbox
    (tmp_path / "logs" / "48213").mkdir(parents=True)
    (tmp_path / "archive" / "job").mkdir(parents=True)
    for file in ("logs/48213/rank_3.log", "archive/job/job.log"):
        (tmp_path / file).write_text(OOM)
    (tmp_path / "torchrun").write_text(f"#!{sys.executable}\n{FAILING}\n")
    (tmp_path / "torchrun").chmod(0o755)
    line = [sys.executable, "-m", "logdoctor", *(url if "://" in word else word for word in words[1:])]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, env=env, cwd=tmp_path)
    assert done.returncode == (0 if words[1] == "scan" else 1), done.stderr
    assert len(got) == (2 if words[1] == "scan" else 1)


def test_settings_of_the_page_hold_for_all_commands(tmp_path):
    text = (Path(__file__).parent.parent / "docs" / "alerts.md").read_text("utf-8")
    (tmp_path / "config.toml").write_text(text.partition("```toml\n")[2].partition("```")[0])
    told = command("config", "--config", str(tmp_path / "config.toml"))
    assert told.returncode == 0
    assert 'quiet-hours = "22:00-07:00"' in told.stdout

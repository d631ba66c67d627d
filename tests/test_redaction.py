"""Redaction removes all secrets and nothing else. A host has the same pseudonym everywhere."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
import yaml
from command_line import call
from corpus_cases import healthy_cases
from effort import within
from msgspec.structs import replace
from planted_secrets import planted
from render_diagnoses import ALL, OOM

from logdoctor.model import Culprit, Diagnosis, Evidence, JobSummary, Line, Problem, RankRow, Step
from logdoctor.redaction import redact
from logdoctor.redaction.pseudonyms import letters
from logdoctor.ruleset import shipped_rules

ROOT = Path(__file__).parent.parent
PIECE = 8
"""Characters of a secret in a row that count as a leak."""


def texts_of(*lines: str, hosts: tuple[str, ...] = ()) -> list[str]:
    """Redact log lines of a job on ``hosts``."""
    proofs = tuple(Evidence(Line("job.log", n, text)) for n, text in enumerate(lines, 1))
    content = redact(Diagnosis("job", "unknown", unexplained=proofs, job=JobSummary(hosts=hosts))).content
    return [line.line.text for line in content.unexplained]


def leaks(secret: str, text: str) -> bool:
    return any(secret[at : at + PIECE] in text for at in range(max(1, len(secret) - PIECE + 1)))


# ── secrets ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_99_of_100_planted_secrets_are_redacted():
    secrets = list(planted())
    left = texts_of(*(line for _, _, line in secrets))
    missed = [
        (kind, line)
        for (kind, secret, line), text in zip(secrets, left, strict=True)
        if leaks(secret.removeprefix("https://hooks.slack.com/services/"), text)
    ]
    assert len(secrets) >= 300
    assert len({kind for kind, _, _ in secrets}) >= 20
    assert len(missed) <= len(secrets) / 100, missed


@pytest.mark.parametrize(
    "line",
    [
        "max_tokens: 4096, pad_token='<|endoftext|>', eos_token: </s>, num_tokens=81920, token_id: 50256",
        "throughput: tokens/s=182034.5 tokens_per_gpu: 22754 token=▁the",
        "UnexpectedToken: unexpected token: 'endfor' at line 12",
        "comm 0x55d1c8a0 commId 0x8f3e2a6b9c1d4e70 rank 3 nranks 16 cudaDev 3 busId 3b000 - Init COMPLETE",
        "git commit 8f14e45fceea167a5a36dedd4bea2543a1b2c3d4 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "last enqueued work: 4211, last completed work: 4210, SeqNum=4211, NumelIn=67108864",
        "self.key_proj.weight torch.nn.modules.linear.Linear transformer.h.0.attn.key=Parameter",
        "The key: value pairs of the config; password: required; secret: none; token: not set",
        "cudnn 9.1.0.70, TensorRT version 10.0.1.6, OFED-5.8-1.1.2.1, driver version 535.104.12, nccl==2.21.5.1",
        'File "/opt/conda/lib/python3.11/site-packages/torch/distributed/c10d_logger.py", line 81, in wrapper',
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; PCI 0000:3b:00.0 Xid 79 at 02:14:07.113",
        "std::vector c10::Error at::native::add torch::autograd::Engine c10d::ProcessGroupNCCL",
        "kubelet: Insufficient nvidia.com/gpu; training.kubeflow.org/job-name=llm; docker.io/library/python:3.11",
        "self.net(x) threading.local logger.info model.norm.weight torch.cuda.amp asyncio.run",
        "bind to 0.0.0.0:29500, loopback 127.0.0.1:8080, ::1",
        "recall@10=0.81 top@5=0.93 memcpy@@GLIBC_2.14 user@1000.service",
        "disk-cache task-runner sk-learn-pipeline-with-a-long-name hf_transformers_config_with_long_name",
        "PWD=/workspace OLDPWD=/ SECRET_FILE=/run/secrets/a TOKENIZERS_PARALLELISM=false NCCL_SOCKET_IFNAME=eth0",
    ],
)  # fmt: skip
def test_line_without_secret_or_name_is_unchanged(line):
    assert texts_of(line) == [line]


def test_fewer_than_2_of_20000_healthy_lines_change():
    chance = random.Random(7)
    lines = [_healthy(chance, n) for n in range(20_000)]
    changed = [(a, b) for a, b in zip(lines, texts_of(*lines), strict=True) if a != b]
    assert len(changed) < 2, changed[:5]


def _healthy(chance: random.Random, n: int) -> str:
    """Return a line without secrets and names, but with many numbers."""
    digits, rank = chance.getrandbits(64), chance.randrange(512)
    return chance.choice(
        (
            f"[rank{rank}]: step {n}/200000 loss {chance.random() * 9:.4f} lr 3.0e-04 tokens/s {digits % 10**6} grad_norm 1.2",
            f"[{rank % 8}] NCCL INFO comm {digits:#x} rank {rank} nranks 512 cudaDev {rank % 8} nvmlDev 0 busId {digits % 2**20:x}",
            f"NCCL version {rank % 3}.{n % 30}.{n % 7}+cuda12.{n % 9} libnccl.so.2.{n % 30}.{n % 7}",
            f"Watchdog: WorkNCCL(SeqNum={n}, OpType=ALLREDUCE, NumelIn={digits % 10**9}, Timeout(ms)=600000) ran for {n} ms",
            f"Saving checkpoint to /ckpt/run-{digits:x}/step_{n:08d}/model-{rank:05d}-of-00512.safetensors",
            f"sha256 {digits:064x} etag {digits:032x} uuid {digits % 2**32:08x}-12ab-4cde-8f01-{digits % 2**48:012x}",
            f'  File "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", line {n}, in _call_impl',
            f"cuDNN version {n % 10}.{n % 12}.{n % 5}.{n % 99} driver 550.{n % 200}.{n % 30} CUDA 12.{n % 9}.{n % 150}",
            f"GPU-{digits % 2**32:08x}-aaaa-bbbb-cccc-{digits % 2**48:012x} 0000:{n % 256:02x}:00.0 {n % 90} C {n % 700} W",
            f"{n:02d}%|{'█' * (n % 9)}| {n}/20000 [{n % 60:02d}:{rank % 60:02d}<1:02:03, {n % 99}.12it/s, key=val, v_num={n}]",
            f"Ring {n % 32:02d} : {rank}[{n:x}] -> {rank + 1}[{digits % 2**16:x}] [send] via NET/IB/{n % 8}/GDRDMA",
            f"transformer.layers.{n % 96}.attention.key.weight [{n}, {rank}] torch.bfloat16 cuda:{rank % 8}",
            f"2025-03-04T02:{n % 60:02d}:{rank % 60:02d}.{n % 1000:03d}Z INFO trainer.loop: epoch={n % 9} token_count={digits} eos_token_id={n}",
        )
    )


def test_healthy_logs_and_messages_hold_no_secret():
    texts = [
        line for file in sorted(ROOT.glob("tests/messages/*.tsv")) for line in file.read_text("utf-8").splitlines()
    ]
    for case in healthy_cases():
        logs = (file for file in sorted(case.iterdir()) if file.suffix in {".log", ".txt", ".out"})
        texts += (line for file in logs for line in file.read_text("utf-8", "replace").splitlines())
    assert len(texts) > 5000
    assert [text for text in texts_of(*texts) if "<redacted:" in text] == []


def test_no_word_of_our_rules_is_redacted():
    texts = [
        text
        for file in sorted(shipped_rules().rglob("*.yaml"))
        for key, part in yaml.safe_load(file.read_text("utf-8")).items()
        if key in ("title", "cause", "remedy") or "i18n" in file.parts
        for text in _texts(part)
    ]
    assert len(texts) > 500
    assert [(a, b) for a, b in zip(texts, texts_of(*texts), strict=True) if a != b] == []


def _texts(part) -> list[str]:
    if isinstance(part, dict | list):
        return [text for item in (part.values() if isinstance(part, dict) else part) for text in _texts(item)]
    return [part] if isinstance(part, str) else []


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_host_has_one_pseudonym_in_every_part_of_the_diagnosis():
    proof = Evidence(Line("/logs/tc-node07.log", 3, "tc-node07:71:71 [0] NCCL WARN lost"), 12, "tc-node07")
    diagnosis = replace(
        OOM,
        unexplained=(proof,),
        problems=(Problem("cut", "/logs/tc-node07.log.gz", "tc-node07 ended"),),
        job=replace(
            OOM.job,
            hosts=("tc-node07",),
            rank_table=(RankRow(12, "culprit", "tc-node07", first_failure=proof),),
        ),
    )
    redaction = redact(diagnosis)
    text = json.dumps(redaction.content.to_dict())
    assert "tc-node07" not in text
    assert redaction.key["<host-a>"] == ("tc-node07",)
    assert redaction.content.causes[0].culprit.hosts == ("<host-a>",)
    assert redaction.content.job.rank_table[0].host == "<host-a>"
    assert redaction.content.unexplained[0].line == Line("/logs/<host-a>.log", 3, "<host-a>:71:71 [0] NCCL WARN lost")
    assert "<host-a>" in redaction.content.causes[0].summary


def test_a_full_name_and_the_short_one_are_the_same_host():
    assert texts_of("tc-node07.hpc.corp.example.com is tc-node07", hosts=("tc-node07",)) == ["<host-a> is <host-a>"]


def test_host_with_a_name_like_listed_hosts_is_redacted():
    assert texts_of("rail 3 of gpu-b12-ib0 is slow", "gpu-b[01-12]", hosts=("gpu-b01",)) == [
        "rail 3 of <host-b>-ib0 is slow", "<hosts-a>"
    ]  # fmt: skip


def test_host_named_like_a_job_part_is_redacted_if_the_diagnosis_names_it():
    lines = ("gpu-012:71:71 [0] NCCL WARN lost", "on gpu-012, GPU gpu-3, worker-0 of 8")
    assert texts_of("pp-0 lost", hosts=("pp-0",)) == ["<host-a> lost"]
    assert texts_of(*lines, hosts=("gpu-012",)) == [
        "<host-a>:71:71 [0] NCCL WARN lost",
        "on <host-a>, GPU gpu-3, worker-0 of 8",
    ]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("srun: error: nid001204: task 7: Killed", "srun: error: <host-a>: task 7: Killed"),
        ("Mar  4 02:14:07 m7 kernel: Out of memory", "Mar  4 02:14:07 <host-a> kernel: Out of memory"),
        ("connect to [fe80::1e34:daff:fe0a:11]:6512", "connect to [<ip-a>]:6512"),
        ("peer 10.0.3.7<43211> and 10.0.3.7:22", "peer <ip-a><43211> and <ip-a>:22"),
        ("on ip-10-0-3-7.ec2.internal", "on <host-a>"),
        ("http://tracking.corp.example.com:5000/api", "http://<host-a>:5000/api"),
        ("mail ada.lovelace@corp.example.com", "mail <email-a>"),
        ("cd /home/ada/run && cat /scratch/ada/x", "cd /home/<user-a>/run && cat /scratch/<user-a>/x"),
        ("uid=1001(ada) SLURM_JOB_USER=ada", "uid=1001(<user-a>) SLURM_JOB_USER=<user-a>"),
        ("ada@gpu-a01: Permission denied", "<user-a>@<host-a>: Permission denied"),
        ("MASTER_ADDR=tick MASTER_PORT=29500", "MASTER_ADDR=<host-a> MASTER_PORT=29500"),
        ("trying to connect to (trainer-master-0, 23456).", "trying to connect to (<host-a>, 23456)."),
    ],
)
def test_a_name_is_found_where_names_stand(line, left):
    assert texts_of(line) == [left]


def test_a_setting_of_the_environment_is_judged_by_its_name():
    job_summary = JobSummary(environment=(("DB_PASSWORD", "Xy7!kq"), ("NCCL_DEBUG", "INFO"), ("MASTER_ADDR", "tick")))
    environment = redact(Diagnosis("job", "finished", job=job_summary)).content.job.environment
    assert environment == (("DB_PASSWORD", "<redacted:password>"), ("NCCL_DEBUG", "INFO"), ("MASTER_ADDR", "<host-a>"))


def test_common_word_as_host_name_is_not_redacted():
    assert texts_of("the master sent it to rank 0 of node 3", hosts=("master", "node")) == [
        "the master sent it to rank 0 of node 3"
    ]


def test_hosts_named_like_pseudonyms_are_renamed_once():
    hosts = ("host-2", "host-1")
    assert texts_of("host-1 lost host-2", hosts=hosts) == ["<host-b> lost <host-a>"]


@pytest.mark.parametrize(("number", "text"), [(1, "a"), (26, "z"), (27, "aa"), (702, "zz"), (703, "aaa")])
def test_stand_ins_are_lettered_like_columns(number, text):
    assert letters(number) == text


def test_command_with_a_stand_in_is_no_command_any_more():
    steps = (
        Step("Requeue without gx4.", ("scontrol update JobId=7 ExcNodeList=gx4", "scontrol release 7")),
        Step("Ask.", ("sacct -j 7",)),
    )
    redacted = redact(replace(OOM, job=replace(OOM.job, hosts=("gx4",)), decision=replace(OOM.decision, steps=steps)))
    assert redacted.content.decision.steps == (Step("Requeue without <host-b>."), Step("Ask.", ("sacct -j 7",)))


def test_gpus_and_peers_that_hold_a_host_name_it_by_its_pseudonym():
    cause = replace(OOM.causes[0], culprit=Culprit(hosts=("gx4",), gpus=("gx4:3",), peers=("10.0.0.9<1>",)))
    culprit = redact(replace(OOM, causes=(cause,))).content.causes[0].culprit
    host = culprit.hosts[0]
    assert (culprit.hosts, culprit.gpus, culprit.peers) == ((host,), (f"{host}:3",), ("<ip-a><1>",))


@pytest.mark.parametrize("diagnosis", ALL.values(), ids=ALL)
def test_redaction_is_deterministic_and_keeps_the_verdict(diagnosis):
    first, second = redact(diagnosis), redact(diagnosis)
    assert first == second
    assert (first.content.verdict, first.content.made_by) == (diagnosis.verdict, diagnosis.made_by)
    assert [c.signature for c in first.content.causes] == [c.signature for c in diagnosis.causes]


@pytest.mark.parametrize("text", ["a." * 50_000, "key=" * 25_000, "x-" * 50_000, "://" * 30_000, "@" * 90_000, "pass" * 25_000,
                                  "1.2." * 25_000, "a:" * 50_000, "/home" * 20_000, '"' * 90_000, "eyJ" * 30_000])  # fmt: skip
def test_hostile_texts_are_redacted_in_bounded_time(text):
    with within(100):
        texts_of(text, hosts=("gx4",))


# ── the command line ────────────────────────────────────────────────────────────────────────────────────────────────

JOB = (
    "gx4:900:900 [0] NCCL INFO Bootstrap : Using eth0:10.5.5.1<0>\n"
    "export HF_TOKEN=planted-and-never-valid-1\n"
    "gx4:900:900 [0] NCCL INFO comm 0x55d1 rank 0 nranks 1 cudaDev 0 - Init COMPLETE\n"
    "[rank0]: Traceback (most recent call last):\n"
    '[rank0]:   File "/home/ada/train.py", line 3, in <module>\n'
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.1 GiB\n"
)


@pytest.fixture
def leaky(tmp_path, clean_environment):
    path = tmp_path / "gx4.log"
    path.write_text(JOB)
    return path


@pytest.mark.parametrize("format", ["html", "markdown", "jira", "sarif"])
def test_shared_formats_hold_no_names(format, leaky):
    out = call("-f", format, leaky).stdout
    assert not re.search(r"\bada\b", out)
    assert "gx4" not in out
    plain = out.replace("&lt;", "<").replace("&gt;", ">").replace("%3C", "<").replace("%3E", ">").replace("\\", "")
    assert "<host-a>.log" in plain


@pytest.mark.parametrize("format", ["text", "json"])
def test_private_formats_keep_names_unless_asked(format, leaky):
    assert "gx4.log" in call("-f", format, leaky).stdout
    assert "<host-a>.log" in call("-f", format, "--redact", leaky).stdout


def test_redaction_can_be_left_out(leaky):
    assert "gx4.log" in call("-f", "markdown", "--no-redact", leaky).stdout


def test_redact_map_holds_names_and_only_its_owner_can_read_it(leaky, tmp_path):
    call("-f", "html", "--redact-map", tmp_path / "key.json", leaky)
    key = json.loads((tmp_path / "key.json").read_text("utf-8"))
    assert "gx4" in key["<host-a>"]
    assert "planted" not in json.dumps(key)
    assert (tmp_path / "key.json").stat().st_mode & 0o777 == 0o600


def test_redact_map_without_redaction_is_wrong_usage(leaky, tmp_path):
    assert "nothing is redacted" in call("--redact-map", tmp_path / "key.json", leaky, code=2).stderr

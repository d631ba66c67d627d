"""Catalogues of codes: laws over all files, look-up, sentences, and use in rules and reports."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from typing import get_args

import pytest
import yaml
from typer.testing import CliRunner

import logdoctor
from logdoctor.cli.commands import app
from logdoctor.codes import (
    catalogue,
    column_names,
    column_values,
    explain,
    explain_codes,
    find_printed,
    follows,
    names,
    table,
)
from logdoctor.codes.search import find_catalogues, find_codes
from logdoctor.codes.table import FOLDER, REST, rows
from logdoctor.model import CALM, Do, Line, Record, RulesError
from logdoctor.pipeline.knowledge import gather, rule_folders
from logdoctor.render import render
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load

HEAD = {"title", "title_zh", "shown", "shown_zh", "explains", "source", "version", "checked"}
COLUMNS = {"code", "name", "meaning", "meaning_zh", "blame", "action"}
ALL = [(name, entry) for name in names() for entry in catalogue(name).entries]
KEYS = {kind: {row["key"] for row in rows(FOLDER / "words" / f"{kind}.tsv")} for kind in ("blame", "action")}
NUMBERED = {"xid": 172, "ib-status": 23, "nccl-result": 9}


def record(kind: str, order: int = 1, time: float | None = None, **fields) -> Record:
    from logdoctor.model import Source

    line = Line("kern.log", order, "…")
    return Record(line, kind.partition(".")[0], kind, "…", Source(time=time), "error", fields, order)


@pytest.fixture(autouse=True)
def compiled_once(cache, monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(cache))


def diagnose_text(log: str, **options):
    return logdoctor.diagnose(io.BytesIO(log.encode()), **options)


# ── laws over all files ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", names())
def test_every_catalogue_has_a_full_head(name):
    head = catalogue(name).head
    assert set(head.about) - {"otherwise", "yields", "explains"} == HEAD - {"explains"}
    assert all(kind and field for kind, field in head.explains)
    assert head.about["checked"][:4].isdigit()


@pytest.mark.parametrize("name", names())
def test_every_entry_has_all_columns_filled(name):
    for entry in catalogue(name).entries:
        assert set(entry.columns) >= COLUMNS
        assert [c for c in COLUMNS if not entry.columns[c].strip()] == [], entry.code


@pytest.mark.parametrize("name", names())
def test_codes_and_texts_of_a_catalogue_are_unique(name):
    code_table = catalogue(name)
    codes = [entry.code for entry in code_table.entries]
    assert len(codes) == len(set(codes))
    texts = [text.lower() for text, _ in code_table.words()]
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("name", names())
def test_other_codes_of_an_entry_have_no_entry_of_their_own(name):
    code_table = catalogue(name)
    codes = {entry.code for entry in code_table.entries}
    others = [other for entry in code_table.entries for other in filter(None, entry.columns.get("also", "").split("|"))]
    assert len(others) == len(set(others))
    assert not codes & set(others)
    assert all(code_table.find(other) in code_table.entries for other in others)


def test_signature_of_a_code_is_listed_or_a_note():
    wanted = {entry.columns["signature"] for _, entry in ALL if "signature" in entry.columns}
    assert wanted <= {"note", *load([shipped_rules()]).signatures}


def test_meaning_of_a_code_is_a_single_clause_in_both_languages():
    for name, entry in ALL:
        meaning, zh = entry.column("meaning"), entry.column("meaning", "zh")
        where = f"{name} {entry.code}"
        assert meaning.isascii(), where
        assert not meaning.endswith((".", " ")), where
        assert len(meaning) < 180, where
        assert any("\u4e00" <= c <= "\u9fff" for c in zh), where
        assert not zh.endswith("。"), where


def test_blames_and_actions_of_codes_equal_the_defined_ones():
    assert {entry.columns["blame"] for _, entry in ALL} == KEYS["blame"]
    assert {entry.columns["action"] for _, entry in ALL} == KEYS["action"]
    assert {entry.decision for _, entry in ALL} == {*get_args(Do)}


def test_follows_names_listed_codes_without_circles_of_two():
    for name, entry in ALL:
        wanted = entry.columns.get("follows", "").split()
        entries = {e.code: e for e in catalogue(name).entries}
        assert set(wanted) <= set(entries), f"{name} {entry.code}"
        assert entry.code not in wanted
        assert [c for c in wanted if entry.code in entries[c].columns["follows"].split()] == [], f"{name} {entry.code}"


def test_every_sentence_holds_the_code_or_the_name():
    for name, entry in ALL:
        assert entry.code in entry.sentence() or entry.name in entry.sentence(), name
        assert "\t" not in entry.sentence("zh")


@pytest.mark.parametrize(("name", "last"), NUMBERED.items())
def test_a_numbered_catalogue_has_no_holes(name, last):
    assert [n for n in range(1, last + 1) if n != 0 and catalogue(name).find(n) is None] == []
    assert REST not in {catalogue(name).find(n).columns["code"] for n in range(1, last + 1)}


@pytest.mark.skipif(sys.platform != "linux", reason="the numbers are those of Linux")
def test_errno_and_signals_are_those_of_linux():
    for entry in catalogue("errno").entries:
        assert getattr(errno, entry.name, int(entry.code)) == int(entry.code)
        assert os.strerror(int(entry.code)) in dict(catalogue("errno").words())
    for number in range(1, 32):
        assert catalogue("signal").find(number).name in {signal.Signals(number).name, "SIGSTKFLT"}


def test_every_syndrome_of_a_card_becomes_a_completion_state():
    for entry in catalogue("ib-syndrome").entries:
        state = catalogue("ib-status").find(entry.columns["status"])
        assert state.columns["meaning"][:12] == entry.columns["meaning"][:12] or state.columns["blame"]


def test_the_texts_of_errno_that_are_searched_for_are_in_the_catalogue():
    from logdoctor.logs.error_numbers import errno_texts
    from logdoctor.logs.format_files import FOLDER

    parts = yaml.safe_load((FOLDER / "parts.yaml").read_text("utf-8"))["parts"]

    assert set("".join(parts["failure_text"]).split("|")) <= set(errno_texts())


# ── finding a code ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("xid", 79, "GPU_HAS_FALLEN_OFF_THE_BUS"),
        ("xid", "79", "GPU_HAS_FALLEN_OFF_THE_BUS"),
        ("errno", "Connection refused", "ECONNREFUSED"),
        ("errno", "econnrefused", "ECONNREFUSED"),
        ("ib-vendor", 129, "TRANSPORT_RETRY_81"),
        ("ib-vendor", "0x81", "TRANSPORT_RETRY_81"),
        ("exit-code", -9, "SIGKILL"),
        ("exit-code", 139, "SIGSEGV"),
        ("exit-code", 200, "PROGRAM"),
        ("libfabric", -110, "ETIMEDOUT"),
        ("sxid", 12099, "EGRESS"),
        ("sxid", 20034, "DLPL_LTSSM_FAULT_UP"),
        ("cuda", "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress"),
        ("slurm-state", "OUT_OF_ME+", "OOM"),
        ("xid", 4000, "UNKNOWN"),
    ],
)
def test_a_code_is_found_by_number_name_or_text(name, value, expected):
    assert catalogue(name).find(value).name == expected


@pytest.mark.parametrize("value", [0, -1, 10**18, "no such thing", "", "*", "9" * 5000, "0x", "0xzz"])
def test_unlisted_value_is_not_found(value):
    assert catalogue("errno").find(value) is None


def test_a_field_is_explained_by_the_kind_that_carries_it():
    assert explain("kernel.xid", "xid", 79).name == "GPU_HAS_FALLEN_OFF_THE_BUS"
    assert explain("generic.error", "xid", 79) is not None
    assert explain("os.other", "status", 12) is None
    assert explain("ucx.completion", "status", 12).name == "IBV_WC_RETRY_EXC_ERR"
    assert explain("kernel.xid", "pid", 79) is None
    assert explain("kernel.xid", "xid", None) is None


def test_codes_of_a_record_are_explained_once_each():
    sentence = explain_codes(record("elastic.worker_failed", exit_code=-9, signal=9))
    assert sentence.startswith("signal 9 SIGKILL: ")
    assert ";" not in sentence
    assert explain_codes(record("kernel.xid", xid=79), "zh").startswith("Xid 79：")
    assert explain_codes(record("kernel.xid", pid=79)) == ""


def test_code_follows_codes_of_the_catalogue_or_the_line():
    assert follows(record("kernel.xid", xid=45), record("kernel.xid", xid=79))
    assert not follows(record("kernel.xid", xid=79), record("kernel.xid", xid=45))
    assert follows(record("kernel.xid", xid=43, previous_xid=61), record("kernel.xid", xid=61))
    assert not follows(record("kernel.xid", xid=45), record("errno.x", errno=79))


def test_healthy_log_reads_no_catalogue(knowledge):
    table.heads.cache_clear()
    table.catalogue.cache_clear()
    healthy = "step 1/3 loss 2.0\nstep 2/3 loss 1.5\nstep 3/3 loss 1.1\nTraining completed.\n"
    assert diagnose_text(healthy, knowledge=knowledge).verdict in CALM
    assert (table.heads.cache_info().currsize, table.catalogue.cache_info().currsize) == (0, 0)


def test_the_parsers_can_be_imported_without_reading_a_catalogue():
    program = "from logdoctor.logs import record_patterns; record_patterns(); from logdoctor.codes import table as t; print(t.heads.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "0"


# ── in rules and reports ────────────────────────────────────────────────────────────────────────────────────────────

RULE = """\
title: "Xid {xid}: {xid.meaning} ({xid.blame}), {xid.nothing_here}"
cause: GPU {bus_id}.
action: exclude
remedy: ['{xid.action}']
references: ['https://example.org']
symptoms: {fault: {kind: kernel.xid, fields: {xid.blame: firmware}}}
examples: [{log: 'NVRM: Xid (PCI:0000:c1:00): 62, pid=1'}]
near_misses: [{is: healthy, log: 'NVRM: loading'}]
text: {zh: {title: "{xid.meaning}", cause: c, remedy: [r]}}
"""
XID = "[Sat Mar  1 13:05:{:02}.{:06} 2025] NVRM: Xid (PCI:0000:{}:00): {}, pid=18812, name=python, {}\n"


def own(tmp_path, text: str):
    (tmp_path / "gpu").mkdir()
    (tmp_path / "gpu" / "own.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_rule_with_a_missing_column_is_refused(tmp_path):
    with pytest.raises(RulesError) as caught:
        load([own(tmp_path, RULE.replace("xid.blame: firmware", "xid.colour: red"))])
    errors = "\n".join(map(str, caught.value.errors))
    assert "nothing is known of 'xid.colour'" in errors
    assert "nothing is known of 'xid.nothing_here'" in errors


def test_a_rule_that_asks_for_a_value_that_no_code_has_is_refused(tmp_path):
    with pytest.raises(RulesError) as caught:
        load([own(tmp_path, RULE.replace("xid.blame: firmware", "xid.blame: [firmware, gremlins]"))])
    assert "no code has gremlins as its blame" in "\n".join(map(str, caught.value.errors))


def test_a_column_has_the_values_of_the_catalogue_that_knows_the_rest():
    assert {"SIGKILL", "EX_CONFIG"} <= column_values("exit_code", "name")
    assert column_values("bus_id", "name") == frozenset()


def test_a_field_that_no_catalogue_explains_has_no_columns():
    assert column_names("bus_id") == frozenset()
    assert {"blame", "group", "follows"} <= column_names("xid")


def test_rule_with_a_column_matches_and_prints_the_meaning(tmp_path):
    folder = own(tmp_path, RULE.replace(", {xid.nothing_here}", "").replace("title:", "signature: gpu.own\ntitle:", 1))
    log = XID.format(1, 0, "c1", 62, "2080(0c14)") + XID.format(9, 0, "c2", 79, "GPU has fallen off the bus.")
    pack = gather([folder])
    causes = diagnose_text(log, knowledge=pack).causes
    assert [c.title for c in causes] == ["Xid 62: the GPU's power controller halted (firmware)"]
    assert causes[0].steps[0].text.startswith("Take the GPU out and reset it")
    assert diagnose_text(log, knowledge=pack, lang="zh").causes[0].title == "GPU 电源管理控制器停机"


def test_a_monitors_line_is_matched_by_what_its_number_means():
    assert diagnose_text("ERROR: gpu monitor: Xid error 79 on device 6\n").causes[0].signature == "cuda.fell-off-bus"
    assert diagnose_text("ERROR: gpu monitor: Xid 120 on GPU 1\n").causes[0].signature == "cuda.gsp"


def test_evidence_has_the_meaning_of_a_code_in_every_format():
    diagnosis = diagnose_text(XID.format(1, 0, "c1", 79, "GPU has fallen off the bus."))
    words = "Xid 79: the GPU has fallen off the bus: the driver cannot reach it over PCIe (hardware)"
    assert json.loads(render(diagnosis, "json"))["causes"][0]["evidence"][0]["why"] == words
    for shape in ("text", "markdown", "html"):
        assert "cannot reach it over PCIe (hardware)" in " ".join(render(diagnosis, shape, everything=True).split())


def test_unexplained_line_has_the_meaning_of_its_code():
    diagnosis = diagnose_text("srun: error: node7: task 3: Exited with exit code 75\n")
    assert diagnosis.verdict == "unknown"
    assert "exit code 75: not now, try again" in diagnosis.unexplained[0].why


def test_the_first_fault_of_a_gpu_is_the_cause_of_those_that_follow_it():
    log = XID.format(1, 0, "c1", 62, "2080(0c14)") + XID.format(
        7,
        0,
        "c1",
        119,
        "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76 (X) (0x0 0x0).",
    )
    diagnosis = diagnose_text(log)
    assert [c.signature for c in diagnosis.causes] == ["cuda.xid-other"]
    assert [s.explained_by for s in diagnosis.symptoms] == ["cuda.xid-other"]


@pytest.mark.parametrize(
    ("second", "causes"), [("1 13:05:59", ["cuda.nvlink"]), ("3 13:05:01", ["cuda.pcie", "cuda.nvlink"])]
)
def test_first_fault_of_a_gpu_is_the_cause_of_faults_of_the_same_day(second, causes):
    line = "[Sat Mar  {} 2025] NVRM: Xid (PCI:0000:c1:00): {}, pid=18812, name=python, {}\n"
    log = line.format("1 13:05:01", 74, "NVLink: fatal error detected on link 11(0x10000, 0x0)")
    diagnosis = diagnose_text(log + line.format(second, 167, "PCIe fatal timeout"))
    assert [c.signature for c in diagnosis.causes] == causes


def test_faults_of_two_gpus_do_not_follow_each_other():
    timeout = "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76 (X) (0x0 0x0)."
    diagnosis = diagnose_text(XID.format(1, 0, "c1", 62, "2080(0c14)") + XID.format(7, 0, "c2", 119, timeout))
    assert diagnosis.causes[0].signature == "cuda.gsp"


# ── logdoctor explain ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("asked", "names_found"),
    [
        ("xid 79", ["GPU_HAS_FALLEN_OFF_THE_BUS"]),
        ("Xid: 79", ["GPU_HAS_FALLEN_OFF_THE_BUS"]),
        ("errno 111", ["ECONNREFUSED"]),
        ("Connection refused", ["ECONNREFUSED"]),
        ("exit code -9", ["SIGKILL"]),
        ("vendor error 129", ["TRANSPORT_RETRY_81"]),
        ("cuda 700", ["cudaErrorIllegalAddress"]),
        ("no active ports found", ["no active ports found"]),
        ("orte-rmaps-base:alloc-error", ["orte-rmaps-base:alloc-error"]),
        ("reason Priority", ["Priority"]),
        ("nccl 5", ["ncclInvalidUsage"]),
        ("xid 9999", ["UNKNOWN"]),
        ("9999", []),
        ("nonsense", []),
    ],
)
def test_codes_are_found_by_words(asked, names_found):
    assert [e.name for e in find_codes(asked)] == names_found


def test_a_number_alone_is_looked_up_everywhere():
    assert {e.head.name for e in find_codes("79")} >= {"xid", "errno", "exit-code"}


def test_a_catalogue_is_found_by_its_name_or_its_beginning():
    assert [c.head.name for c in find_catalogues("slurm")] == ["slurm-reason", "slurm-state"]
    assert [c.head.name for c in find_catalogues("exit code")] == ["exit-code"]
    assert find_catalogues("nonsense") == ()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["xid", "79"], "fallen off the bus"),
        (["Xid 79"], "fallen off the bus"),
        (["exit", "-9"], "exit code -9"),
        ([], "errno"),
        (["signal"], "SIGKILL"),
        (["NVRM: Xid (PCI:0000:4f:00): 31, pid=6021, name=infer, MMU Fault"], "page fault"),
        (["--lang", "zh", "xid", "79"], "硬件"),
    ],
)
def test_explain_command_takes_a_code_a_line_or_nothing(words, expected):
    done = CliRunner().invoke(app, ["explain", *words])
    assert done.exit_code == 0
    assert expected in done.stdout


def test_unknown_name_exits_2_with_a_hint():
    done = CliRunner().invoke(app, ["explain", "ECONREFUSED"])
    assert done.exit_code == 2
    assert "ECONNREFUSED" in done.output


@pytest.mark.parametrize("asked", ["xid 79", "xid79", "XID:79", "Xid-79", "xid_79", "xid = 79"])
def test_spelling_of_a_code_does_not_matter(asked):
    assert [e.name for e in find_codes(asked)] == ["GPU_HAS_FALLEN_OFF_THE_BUS"]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("137", "exit-code"),
        ("exit 137", "exit-code"),
        ("-9", "exit-code"),
        ("9", "signal"),
        ("sig term", "signal"),
        ("nccl remote error", "nccl-result"),
        ("econnrefused", "errno"),
        ("CUDA error 700", "cuda"),
        ("oom-killed", "kubernetes"),
        ("node fail", "slurm-state"),
        ("crash loop back off", "kubernetes"),
    ],
)
def test_likely_catalogue_comes_first(asked, wanted):
    assert find_codes(asked)[0].head.name == wanted


def explained(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["explain", "--lang", "en", *words])
    assert done.exit_code == code, done.output
    return done.output


def test_a_number_alone_lists_what_it_can_be_with_a_line_each():
    lines = explained("79").splitlines()
    assert lines[0] == "79 can be"
    assert lines[1].startswith("  Xid 79 ")
    assert [line.split()[0] for line in lines[2:4]] == ["exit", "errno"]
    assert lines[-1] == "One of them: logdoctor explain xid 79"
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("asked", ["SIGTERM", "ECONNREFUSED", "ncclRemoteError", "net.peer-closed", "15"])
def test_a_signal_or_a_network_error_is_not_to_be_fixed_first(asked):
    assert "fix first" not in explained(asked).lower()
    assert "fix it first" not in explained(asked).lower()


def test_a_signature_tells_its_decision_steps_example_and_rules():
    out = explained("net_socket connect")
    assert out.startswith("net.socket-connect: ")
    assert "if a step was done, investigate" in out
    assert [
        label for label in ("Meaning", "Decision", "Steps", "Looks like", "Rules") if f"\n  {label} " not in out
    ] == []
    assert "net.socket-connect-ray" in out


def test_a_rule_tells_its_own_decision():
    assert explained("host.oom-kill-deepspeed").startswith("host.oom-kill-deepspeed: ")
    assert "investigate" in explained("host.oom-kill-deepspeed")


def test_signature_names_those_that_a_log_cannot_tell_from_it():
    assert "Looks alike collective.straggler" in " ".join(explained("collective.timeout").split())


def test_rule_that_no_log_shows_tells_its_source():
    page = " ".join(explained("net.ib-setup-transports").split())
    assert "no log here shows it; source: NCCL, src/misc/socket.cc" in page
    assert "no log here shows it" not in explained("cuda.oom")


def test_every_signature_and_rule_is_explained():
    from logdoctor.cli.rule_page import decision_text, find_rules

    rules = load([shipped_rules()]).rules
    for rule in rules:
        assert find_rules(rule.id, rules)
        for lang in ("en", "zh"):
            assert decision_text(rule.decisions, lang)


def test_a_line_of_a_log_is_diagnosed_as_from_a_pipe():
    line = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
    piped = CliRunner().invoke(app, ["diagnose", "--lang", "en"], input=f"{line}\n").stdout
    assert explained(line) == piped
    assert "cuda.oom" in piped


ASKED = """watchdog gloo ChildFailedError timeout OOM Xid_79 SIGKILL NCCL_WARN rdzv store ib_cqe RNR 137 143 ECONNREFUSED
PMIX_ERR_UNREACH UCS_ERR_NO_DEVICE cuda_error_802 PMIX_ERR_LOST_CONNECTION_TO_SERVER Endpoint_timeout pmix ucx desync hang
dns memlock NaN segfault straggler flight_recorder nvlink GID EADDRINUSE preempted"""


@pytest.mark.parametrize("asked", ASKED.split())
def test_word_that_users_ask_for_is_explained(asked):
    assert explained(*asked.split("_") if asked.islower() or ("_" in asked and "ERR" not in asked) else [asked])


def test_word_that_names_several_signatures_proposes_them():
    assert "See also: cuda.oom, host.oom-kill" in explained("OOM")
    assert "See also: collective.timeout, rdzv.timeout" in explained("timeout")
    assert "app.config, rdzv.config" in " ".join(explained("config", code=2).split())


def test_terms_lead_to_known_signatures():
    signatures = {rule.signature for rule in load([shipped_rules()]).rules}
    assert {name for _, entry in ALL for name in entry.columns.get("see", "").split()} <= signatures


def test_name_of_a_signature_is_never_a_code():
    assert explained("mpi.abort").startswith("mpi.abort: ")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_page_of_a_rule_tells_each_step_once_and_names_open_values(lang):
    from logdoctor.cli.rule_page import rule_rows

    book = load([shipped_rules()])
    for rule in book.rules:
        label, *rows = rule_rows(rule.id, [rule], (), lang, book.defects, full=False)
        steps = [text.partition(". ")[2] for _, text in rows if re.match(r"\d+\. ", text)]
        assert len(steps) == len(set(steps)), rule.id
        assert not any(" ? " in step for step in (*steps, *label)), rule.id


def test_unknown_xid_decides_nothing():
    assert "Decision    investigate" in explained("xid", "9999")


def test_translations_and_sources_are_shown_on_request_only():
    assert "已终止" not in explained("SIGTERM")
    assert "checked 20" not in explained("SIGTERM")
    assert "checked 20" in explained("--all", "SIGTERM")


@pytest.mark.parametrize(
    ("asked", "wanted"), [("ECONREFUSED", "ECONNREFUSED"), ("cuda.omm", "cuda.oom"), ("OOMKiled", "OOMKilled")]
)
def test_unknown_words_get_proposals_of_all_names(asked, wanted):
    assert wanted in explained(asked, code=2)


# ── help texts of Open MPI ──────────────────────────────────────────────────────────────────────────────────────────

ROW = "-" * 74
HELP_TEXTS = [(text, entry) for text, entry in catalogue("openmpi-help").words()]


def in_a_frame(text: str) -> str:
    return f"step 1/3 loss 2.5\n{ROW}\nOpen MPI says: {text}\n  Local host: trn03\n{ROW}\n"


def test_every_help_text_finds_its_own_topic():
    found = {text: find_printed(text, "openmpi-help") for text, _ in HELP_TEXTS}
    assert [text for text, entry in HELP_TEXTS if found[text] is None or found[text].code != entry.code] == []


def test_notes_of_open_mpi_leave_a_good_end_calm():
    pack = gather(rule_folders())
    work = "step 2/3 loss 2.4\nstep 3/3 loss 2.3\nTraining completed.\n"
    notes = [text for text, entry in HELP_TEXTS if entry.columns["signature"] == "note"]
    verdicts = {text: diagnose_text(in_a_frame(text) + work, knowledge=pack).verdict for text in notes}
    assert {text: verdict for text, verdict in verdicts.items() if verdict not in CALM} == {}


def test_every_signature_of_a_help_text_has_a_rule():
    symptoms = [symptom for rule in load([shipped_rules()]).rules for symptom in rule.symptoms]
    read = {wanted for symptom in symptoms for name, wanted in symptom.fields if name == "topic.signature"}
    assert {entry.columns["signature"] for _, entry in HELP_TEXTS} - {"note"} <= read

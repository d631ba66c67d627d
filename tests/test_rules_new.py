"""`logdoctor rules new`: drafts load and hold on their log line."""

from __future__ import annotations

import tarfile

import pytest
import regex
import yaml
from command_line import call
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_texts import rule_file

from logdoctor.authoring.drafting import draft, lines_at, suggest
from logdoctor.authoring.lint import lint
from logdoctor.model import InputError
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import read
from logdoctor.ruleset.tables import read_signatures

pytestmark = pytest.mark.usefixtures("clean_environment")

LINE = "[rank3]: RuntimeError: torus driver: link 7 to switch sw-12.rack3 lost after 3000 ms"
TRACEBACK = 'Traceback (most recent call last):\n  File "/opt/a.py", line 3, in f\n    g()\nTorusError: link 7 lost\n'
LOGS = {
    "a line": LINE,
    "a line of NCCL": "nodea:12:13 [0] NCCL WARN torus/link.cc:88 Torus link 7 on port 8123 said no to 10.1.2.3<33>",
    "a traceback": TRACEBACK,
    "a line no parser knows": "the torus fabric on node17 is not amused",
    "quotes and colons": "FATAL torus: it's \"gone\": {why: 'unknown'} # 3",
    "leading blanks": "    FATAL torus driver gave up",
    "colours": "\x1b[31mFATAL the hydra has no heads\x1b[0m",
    "letters of elsewhere": "FATAL 光纤 torus 断开 7",
}


def test_a_draft_has_no_fault_but_the_words_to_be_written(tmp_path):
    for name, log in LOGS.items():
        rule_file(tmp_path, f"site.{name.replace(' ', '-')}", draft("site.torus", log, {}).text)
    result = lint([tmp_path])
    assert result.count == len(LOGS)
    assert [str(r) for r in result.issues if r.code != "todo"] == []


@given(st.text(min_size=1, max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_line_makes_a_draft_that_is_yaml_with_the_line_as_its_example(text):
    if not text.splitlines() or not text.splitlines()[0].strip():
        with pytest.raises(InputError):
            draft("site.torus", text, {})
        return
    read = yaml.safe_load(draft("site.torus", text, {}).text)
    assert read["examples"][0]["log"].rstrip("\n") == text.splitlines()[0].encode("utf-8", "replace").decode()


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_a_suggested_expression_is_empty_or_finds_its_own_message(text):
    expression = suggest(text)
    assert not expression or regex.search(expression, text.strip(), regex.MULTILINE)


def test_words_stay_and_values_become_groups_named_by_the_word_before():
    message = "torus driver: link 7 to switch sw-12.rack3 lost after 3000 ms at /var/log/torus.log, peer 10.0.0.7:90"
    expression = suggest(message)
    assert expression.startswith(r"torus driver: link (?P<link>\d+) to switch (?P<switch>")
    match = regex.search(expression, message.replace("sw-12", "sw-40").replace("3000", "21"))
    assert (match["link"], match["switch"], match["peer"]) == ("7", "sw-40.rack3", "10.0.0.7:90")


def test_draft_leaves_to_its_signature_what_the_signature_says():
    signatures = read_signatures(shipped_rules() / "signatures.tsv", [])
    listed, unlisted = (yaml.safe_load(draft(name, LINE, signatures).text) for name in ("net.dns", "site.torus"))
    assert not {"action", "failure_class", "signature"} & listed.keys()
    assert {"action", "failure_class"} <= unlisted.keys()


@pytest.mark.parametrize(
    ("rule_id", "signature", "file"),
    [
        ("net.dns", "", "net/dns/rule.yaml"),
        ("net.dns-torus", "net.dns", "net/dns/dns-torus.yaml"),
        ("site.torus", "net.dns", "site/torus.yaml"),
    ],
)
def test_draft_is_a_rule_of_its_id_and_signature_where_it_is_written(rule_id, signature, file, tmp_path):
    arguments = ["--signature", signature] if signature else []
    call("rules", "new", rule_id, "--line", LINE, "--rules", tmp_path, *arguments)
    rule = read([shipped_rules(), tmp_path]).rule(rule_id)
    assert (rule.path, rule.signature) == (str(tmp_path / file), signature or rule_id)


def test_a_line_of_a_file_and_of_an_archive_member_is_found_by_its_place(tmp_path):
    (tmp_path / "job.log").write_text(f"step 1\n{LINE}\nstep 2")
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "job.log", "run/job.log")
    for file in ("job.log", "logs.tar.gz:run/job.log"):
        assert lines_at(f"{tmp_path}/{file}:2") == f"{LINE}\nstep 2"
        assert lines_at(f"{tmp_path}/{file}:3") == "step 2"


@pytest.mark.parametrize("place", ["job.log", "job.log:0", "job.log:9", "gone.log:1", "job.log:x", ":3"])
def test_place_without_a_line_is_exit_code_3(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.log").write_text("one\n")
    assert place.partition(":")[0] in call("rules", "new", "a.b", "--from", place, "--rules", "r", code=3).stderr
    assert not (tmp_path / "r").exists()


def test_the_rule_is_written_and_the_next_steps_are_shown(tmp_path):
    (tmp_path / "job.log").write_text(f"step 1\n{LINE}\n")
    out = call("rules", "new", "site.torus", "--from", f"{tmp_path}/job.log:2", "--rules", tmp_path / "my").stdout
    file = tmp_path / "my" / "site" / "torus" / "rule.yaml"
    assert f"wrote {file}" in out
    assert f"logdoctor rules lint site.torus --rules {tmp_path}/my" in out
    assert "python.exception" in out
    assert LINE in file.read_text()


@pytest.mark.parametrize("arguments", [["--line", LINE], []])
def test_the_line_may_be_an_option_or_standard_input(arguments, tmp_path):
    call("rules", "new", "site.torus", *arguments, "--rules", tmp_path, stdin=LINE + "\n")
    assert LINE in (tmp_path / "site" / "torus" / "rule.yaml").read_text()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "site" / "torus").mkdir(parents=True)
    (tmp_path / "site" / "torus" / "rule.yaml").write_text("mine")
    assert "there already" in call("rules", "new", "site.torus", "--line", LINE, "--rules", tmp_path, code=2).stderr
    assert (tmp_path / "site" / "torus" / "rule.yaml").read_text() == "mine"


@pytest.mark.parametrize("name", ["torus", "Site.torus", "site/torus", "../x.y", "site..x", "a.b\n", "a.b.c"])
def test_an_id_that_is_no_path_below_the_folder_is_wrong_usage(name, tmp_path):
    call("rules", "new", name, "--line", LINE, "--rules", tmp_path, code=2)
    assert list(tmp_path.iterdir()) == []


def test_new_rule_without_a_folder_outside_a_checkout_is_wrong_usage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--rules FOLDER" in call("rules", "new", "site.torus", "--line", LINE, code=2).stderr

"""Files of rules, settings and models come from other people: none may stop or end a diagnosis."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from command_line import program
from failing_job import LOG
from own_packs import FILES, NOT_FILES, YAML_FILES
from rule_texts import rule_file

from logdoctor.classifier.linear_model import load_model
from logdoctor.cli.settings import settings
from logdoctor.model import InputError, RuleError
from logdoctor.model.own_files import MAX_BYTES, NotUtf8, read_bytes, read_text
from logdoctor.pack.yaml_lines import parse
from logdoctor.pipeline.knowledge import gather
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import read
from logdoctor.ruleset.packages import installed_rules
from logdoctor.ruleset.tables import MAX_FAULTS, read_signatures


@pytest.mark.parametrize("name", YAML_FILES)
def test_hostile_yaml_is_refused_with_its_line(name):
    with pytest.raises(RuleError) as error:
        parse(YAML_FILES[name], "rule.yaml")
    assert error.value.where.startswith("rule.yaml:")
    assert len(str(error.value)) < 1000


def test_yaml_of_aliases_and_anchors_on_keys_is_plain_data():
    document = parse("&k key: &v [1, {a: 0x10}]\nother: {*k : *v}\nnone:\nsign: '<'\n", "rule.yaml")
    assert document.data == {"key": [1, {"a": 16}], "other": {"key": [1, {"a": 16}]}, "none": None, "sign": "<"}
    assert (document.line(("other", "key", 1, "a")), document.line(("sign",)), document.line(("gone",))) == (1, 4, 1)


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_yaml_without_a_value_is_none(text):
    assert parse(text, "rule.yaml").data is None


@pytest.mark.parametrize("name", FILES)
def test_hostile_rule_file_is_a_fault_with_its_place_beside_good_rules(name, tmp_path):
    rule_file(tmp_path, "net.licence")
    FILES[name](tmp_path / "net" / "bad.yaml")
    book = read([tmp_path])
    (fault,) = book.faults
    assert fault.where.startswith(str(tmp_path / "net" / "bad.yaml"))
    assert (name in NOT_FILES) == (fault.where == str(tmp_path / "net" / "bad.yaml"))
    assert [rule.id for rule in book.rules] == ["net.licence"]


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("name", ["deep list", "pipe"])
def test_program_with_a_hostile_rule_diagnoses_by_the_other_rules(name, tmp_path):
    (tmp_path / "net").mkdir()
    FILES[name](tmp_path / "net" / "bad.yaml")
    result = program("diagnose", "--width", 140, "--rules", tmp_path, "-", stdin=LOG.encode())
    assert result.returncode == 0, result.stderr
    assert b"bad.yaml" in result.stdout + result.stderr
    assert b"cuda.oom" in result.stdout


@pytest.mark.parametrize("name", [*NOT_FILES, "binary"])
def test_hostile_table_of_signatures_is_one_fault(name, tmp_path):
    FILES[name](tmp_path / "signatures.tsv")
    faults = []
    assert read_signatures(tmp_path / "signatures.tsv", faults) == {}
    assert [fault.where.startswith(str(tmp_path / "signatures.tsv")) for fault in faults] == [True]


def test_faulty_lines_of_a_table_of_signatures_cost_themselves(tmp_path):
    table = tmp_path / "signatures.tsv"
    table.write_text("# ours\nnet.good\tnet\tretry\tlate\t-\tgood\n" + "net.bad\n" * 3 * MAX_FAULTS, "utf-8")
    faults = []
    assert list(read_signatures(table, faults)) == ["net.good"]
    assert len(faults) == MAX_FAULTS
    assert faults[0].where == f"{table}:3"


@pytest.mark.parametrize("name", [*NOT_FILES, "deep list", "deep table", "long number", "binary"])
def test_hostile_settings_are_one_error_with_their_place(name, tmp_path):
    file = tmp_path / "logdoctor.toml"
    FILES[name](file)
    with pytest.raises(InputError) as error:
        settings({"LOGDOCTOR_CONFIG": str(file)})
    assert error.value.where.startswith(str(file))


TOML = {
    "deep": ("rules=" + "[" * 60_000 + "]" * 60_000, None),
    "deep table": ("a=" + "{a=" * 60_000, None),
    "large": ("# " + "x" * (1 << 14), None),
    "long number": ("\nlang = " + "7" * 5000, None),
    "second line": ('lang = "en"\nrules = ]', 2),
}


@pytest.mark.parametrize("name", TOML)
def test_faulty_toml_is_one_error_with_its_line(name, tmp_path):
    text, line = TOML[name]
    file = tmp_path / "logdoctor.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError) as error:
        settings({"LOGDOCTOR_CONFIG": str(file)})
    assert error.value.where == (f"{file}:{line}" if line else str(file))
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("name", FILES)
def test_hostile_model_is_one_error(name, tmp_path):
    FILES[name](tmp_path / "model.json")
    with pytest.raises(InputError) as error:
        load_model(tmp_path / "model.json")
    assert error.value.where == str(tmp_path / "model.json")


@pytest.mark.parametrize("name", NOT_FILES)
def test_hostile_list_of_a_packages_entry_points_gives_no_rules(name, tmp_path, monkeypatch):
    (tmp_path / "x.dist-info").mkdir()
    FILES[name](tmp_path / "x.dist-info" / "entry_points.txt")
    monkeypatch.syspath_prepend(tmp_path)
    assert [folder for folder in installed_rules(None) if "x" in folder.parts] == []


def test_file_of_the_largest_size_is_read_whole_and_a_larger_one_is_not(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * MAX_BYTES)
    assert len(read_bytes(tmp_path / "a")) == MAX_BYTES
    (tmp_path / "a").write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(OSError, match="larger than 1024 KiB"):
        read_bytes(tmp_path / "a")


def test_text_that_is_no_utf_8_names_its_line(tmp_path):
    (tmp_path / "a").write_bytes(b"a\nb\n\xff")
    with pytest.raises(NotUtf8) as error:
        read_text(tmp_path / "a")
    assert error.value.line == 3


def test_endless_file_takes_no_memory(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="a device"):
        read_bytes(Path(tmp_path / "zero"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_faults_of_rules_do_not_end_the_making_of_a_pack(tmp_path, cache):
    (tmp_path / "net").mkdir()
    for number, make in enumerate(FILES.values()):
        make(tmp_path / "net" / f"bad{number}.yaml")
    assert len(gather([shipped_rules(), tmp_path]).faults) == len(FILES)

"""The owner of a cause: who has to change something, and in which frame."""

from __future__ import annotations

import pytest
from failing_job import diagnose_log

from logdoctor.codes.packages import find_package, packages
from logdoctor.model import Owner, RuleError
from logdoctor.render import render
from logdoctor.ruleset import rule_files, shipped_rules
from logdoctor.ruleset.decisions import read_owners
from logdoctor.ruleset.tables import VERDICTS, read_signatures

HEAD = "Traceback (most recent call last):\n"
SITE = "/opt/env/lib/python3.11/site-packages"


def frame(path: str, line: int, function: str, code: str = "") -> str:
    return f'  File "{path}", line {line}, in {function}\n' + (f"    {code}\n" if code else "")


MAIN = frame("/home/ada/train.py", 88, "main", 'y = batch["labels"]')
LOADER = frame(f"{SITE}/torch/utils/data/dataloader.py", 633, "__next__")
SAMPLE = frame("/home/ada/samples.py", 12, "__getitem__", "return self.rows[index]")
FUNCTIONAL = frame(f"{SITE}/torch/nn/functional.py", 2551, "embedding")


def owner(log: str, knowledge) -> Owner:
    return diagnose_log(log, knowledge).causes[0].owner


# ── the proof ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_exception_raised_in_the_own_code_is_of_the_own_code(knowledge):
    found = owner(HEAD + MAIN + "KeyError: 'labels'\n", knowledge)
    assert (found.who, found.frame, found.code) == ("your code", "train.py:88", 'y = batch["labels"]')


def test_exception_of_a_called_library_is_of_the_own_code(knowledge):
    found = owner(HEAD + MAIN + FUNCTIONAL + "IndexError: index out of range in self\n", knowledge)
    assert (found.who, found.frame, found.package) == ("your code", "train.py:88", "torch")


def test_wrong_sample_is_of_the_data(knowledge):
    found = owner(HEAD + MAIN + LOADER + SAMPLE + "IndexError: list index out of range\n", knowledge)
    assert (found.who, found.frame) == ("your data", "samples.py:12")


def test_exception_without_own_frame_is_of_the_framework(knowledge):
    found = owner(HEAD + FUNCTIONAL + "RuntimeError: unpack of nothing went astray\n", knowledge)
    assert (found.who, found.frame, found.package) == ("framework", "", "torch")


def test_start_script_of_an_installed_program_is_no_own_frame(knowledge):
    script = frame("/opt/env/bin/launcher", 8, "<module>", "sys.exit(main())")
    found = owner(HEAD + script + FUNCTIONAL + "RuntimeError: unpack of nothing went astray\n", knowledge)
    assert (found.who, found.frame) == ("framework", "")


@pytest.mark.parametrize(
    ("error", "who"),
    [
        ("OSError: [Errno 28] No space left on device", "storage"),
        ("OSError: [Errno 5] Input/output error", "storage"),
        ("OSError: [Errno 116] Stale file handle", "storage"),
    ],
)
def test_error_number_outweighs_the_frame(error, who, knowledge):
    assert owner(f"{HEAD}{MAIN}{error}\n", knowledge).who == who


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("line", "who"),
    [
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", "scheduler"),
        ("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***", "a-person"),
    ],
)
def test_order_is_of_the_one_who_gave_it(line, who, knowledge):
    assert owner(line, knowledge).who == who


def test_every_row_is_about_a_signature_or_a_rule():
    errors: list[RuleError] = []
    rules = {file.id for file in rule_files(shipped_rules())}
    signatures = {*read_signatures(shipped_rules() / "signatures.tsv", [])} - {*VERDICTS}
    assert {*read_owners(shipped_rules() / "owners.tsv", errors)} - signatures - rules == set()
    assert errors == []


def test_unknown_owner_is_reported_with_its_line(tmp_path):
    (tmp_path / "owners.tsv").write_text("# head\nnet.dns\t-\tnobody\n")
    errors: list[RuleError] = []
    assert read_owners(tmp_path / "owners.tsv", errors) == {}
    assert [error.where for error in errors] == [f"{tmp_path}/owners.tsv:2"]


def test_packages_are_found_by_name_and_by_library():
    assert find_package("webdataset").owner == "your data"
    assert find_package("/usr/lib/x86_64-linux-gnu/libcuda.so.1").owner == "gpu-or-driver"
    assert find_package("libcudart.so.12") is None
    assert len({row.pattern for row in packages()}) == len(packages())


# ── the report ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("lang", "text"), [("en", "Look at train.py:88: "), ("zh", "查看 train.py:88：")])
@pytest.mark.parametrize("form", ["text", "markdown", "jira", "html"])
def test_first_step_is_a_look_at_the_owners_own_frame(form, lang, text, knowledge):
    diagnosis = diagnose_log(f"{HEAD}{MAIN}KeyError: 'labels'\n", knowledge, lang=lang)
    assert text in render(diagnosis, form, lang=lang).replace("\\", "")


def test_a_certain_fix_stands_before_the_look_at_the_frame(knowledge):
    end = "ValueError: Default process group has not been initialized, please make sure to call init_process_group.\n"
    steps = diagnose_log(f"{HEAD}{MAIN}{end}", knowledge).answer.steps
    assert [step.text.startswith("Look at train.py:88") for step in steps[:2]] == [False, True]


def test_details_name_the_owner(knowledge):
    diagnosis = diagnose_log(f"{HEAD}{MAIN}KeyError: 'labels'\n", knowledge)
    assert "To change\n  your code, train.py:88." in render(diagnosis, "text", everything=True)

"""`logdoctor rules lint` finds each kind of fault, with place and help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import call
from rule_texts import LICENCE, rule_file

from logdoctor.authoring.lint import lint
from logdoctor.authoring.lint_issue import CODES

pytestmark = [pytest.mark.usefixtures("clean_environment"), pytest.mark.xdist_group("rules")]
"""One worker: reading all rules for the first time takes seconds."""


def issues(folder) -> list[tuple[str, str]]:
    """Lint the rules of a folder alone. Return (code, rule) of each issue."""
    return [(r.code, r.rule) for r in lint([folder]).issues]


def codes(folder, *changes: tuple[str, str]) -> list[str]:
    """Lint one rule with these changes. Return the codes."""
    rule_file(folder, "site.licence", LICENCE, *changes)
    return [code for code, _ in issues(folder)]


BEATS = "because: [{of: site.licence, reason: it says more}]\n"
POWER = "site.power\tmachine-room\tstop\twaits in vain\t-\tThe power failed\n"
GONE = "gone: {text: 'licence server (?P<server>[a-z]+) did not answer'}"
CHINESE = "action: retry\ntext: {{zh: {{title: 许可, cause: 无应答, remedy: {}}}}}"


def test_good_rule_has_no_issue(tmp_path):
    assert codes(tmp_path) == []


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("faulty", [("action: retry", "action: pray")]),
        ("faulty", [("title:", "titel:")]),
        ("todo", [("Start it again", "TODO find out")]),
        ("unreachable", [("log: 'FATAL licence", "log: 'FATAL printer")]),
        ("unreachable", [(GONE, GONE + "\nwhen: {all: [gone], none: [gone]}")]),
        ("unreachable", [(GONE, GONE + "\nwhen: {all: [gone], count: {gone: '<1'}}")]),
        ("unreachable", [(GONE, GONE + "\nwhen: {all: [gone], job: {hung: true, finished: true}}")]),
        ("unreachable", [(GONE, GONE.replace("{text", "{kind: nccl.nosuch, text"))]),
        ("unreachable", [(GONE, GONE + "\n  idle: {text: 'licence server idles'}\nwhen: {any: [gone]}")]),
        ("never-hit", [(GONE, GONE + "\n  idle: {text: 'licence server idles'}")]),
        ("broad", [("text: 'licence", "text: 'br-[0-9]|licence")]),
        ("broad", [("text: 'licence server (?P<server>[a-z]+) did not answer'", "text: '(?i)has to|did not answer'")]),
        (
            "slow",
            [
                (
                    "text: 'licence server (?P<server>[a-z]+) did not answer'",
                    r"text: '[a-z]+ h\wd\wa\wd\wd\wn\wt'",
                )
            ],
        ),
        ("unknown-word", [("{server} is gone", "{port} is gone")]),
        ("unknown-word", [("action: retry", "action: retry\nculprit: {hosts: where}")]),
        ("translation", [("action: retry", CHINESE.format(["`srun true`", "再试"]))]),
        ("translation", [("action: retry", CHINESE.format(["再试"])), ("Start it again", "Start `job.sh` again")]),
        ("no-help", [("action: retry", "action: retry\nnot: [{text: Start it again, because: It fails again.}]")]),
        ("unused-ignore", [("action: retry", "action: retry\nlint: {ignore: {slow: it is not}}")]),
    ],
)
def test_each_kind_of_fault_is_found(code, changes, tmp_path):
    assert code in codes(tmp_path, *changes)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("The {server?named|unnamed} server", ["old-slot"]),
        ("{server|The server}", ["never-told"]),
        ("{{server}|The server}", []),
    ],
)
def test_words_for_an_unknown_value_are_the_last_alternative(words, found, tmp_path):
    assert codes(tmp_path, ("A licence server did not answer.]", f"'{words} did not answer.']")) == found


def test_every_code_has_a_severity_and_a_meaning():
    assert all(severity in ("error", "warning", "note") and meaning for severity, meaning in CODES.values())


def test_signature_that_the_table_of_the_folder_lacks_is_an_error_with_the_line_to_add(tmp_path):
    file = rule_file(tmp_path, "site.no-licence", LICENCE)
    (tmp_path / "signatures.tsv").write_text(POWER)
    printed = call("rules", "lint", "--rules", tmp_path, "site.no-licence", code=1).stderr
    assert printed.splitlines() == [
        f"{file}:1: error: the signature site.no-licence is not in {tmp_path}/signatures.tsv [unlisted]",
        "  why: rules, labelled cases and reports agree there on its family, action, failure class and meaning",
        '  help: add the line "site.no-licence<TAB>machine-room<TAB>retry<TAB>CLASS<TAB>-<TAB>MEANING"',
    ]


def test_signature_of_a_variant_is_named_at_its_own_line(tmp_path):
    rule_file(tmp_path, "site.no-licence", LICENCE, ("action: retry", "action: retry\nsignature: site.licence"))
    (tmp_path / "signatures.tsv").write_text("")
    assert [(i.code, i.where) for i in lint([tmp_path]).issues] == [
        ("unlisted", f"{tmp_path}/site/no-licence.yaml:4"),
    ]


def test_listed_signature_and_folder_without_a_table_are_accepted(tmp_path):
    assert codes(tmp_path) == []
    (tmp_path / "signatures.tsv").write_text(
        "site.licence\tsite\tretry\twaits in vain\t-\tThe licence server is gone\n"
    )
    assert codes(tmp_path) == []


def test_faulty_table_is_reported_once(tmp_path):
    rule_file(tmp_path, "site.licence")
    (tmp_path / "signatures.tsv").write_text("site.power\tstop\n")
    assert [i.code for i in lint([tmp_path]).issues] == ["faulty"]


def test_a_rule_that_another_always_beats_is_shadowed(tmp_path):
    rule_file(tmp_path, "site.licence")
    rule_file(tmp_path, "site.any", LICENCE, ("action", BEATS + "action"), ("gone:", "lost:"))
    assert ("shadowed", "site.licence") in issues(tmp_path)


def test_two_rules_that_claim_one_line_overlap_until_one_explains_the_other(tmp_path):
    rule_file(tmp_path, "site.licence")
    rule_file(tmp_path, "site.hydra", LICENCE, ("text: 'lic", "text: 'FATAL lic"))
    assert ("overlapping", "site.hydra") in issues(tmp_path)
    rule_file(
        tmp_path,
        "site.hydra",
        LICENCE,
        ("text: 'lic", "text: 'FATAL lic"),
        ("action", BEATS + "action"),
    )
    assert ("overlapping", "site.hydra") not in issues(tmp_path)


def test_because_without_an_example_of_both_is_unproven(tmp_path):
    rule_file(tmp_path, "site.licence")
    rule_file(tmp_path, "site.hydra", LICENCE, ("action", BEATS + "action"), ("licence server", "print server"))
    assert ("unproven-because", "site.hydra") in issues(tmp_path)
    rule_file(tmp_path, "site.hydra", LICENCE, ("action", BEATS + "action"))
    assert ("unproven-because", "site.hydra") not in issues(tmp_path)


@pytest.mark.parametrize("kind", ["crash.frames", "kubernetes.passed", "generic.complaint", "text.line"])
def test_kind_without_a_record_pattern_is_known(kind, tmp_path):
    rule_file(tmp_path, "site.licence", LICENCE, (GONE, GONE.replace("{text", f"{{kind: {kind}, text")))
    assert [issue for issue in lint([tmp_path]).issues if "no line is of the kind" in issue.what] == []


def test_a_fallback_whose_lines_are_always_taken_is_unreachable(tmp_path):
    rule_file(tmp_path, "site.licence")
    rule_file(tmp_path, "site.net", LICENCE, ("action", "role: fallback\naction"))
    (issue,) = [r for r in lint([tmp_path]).issues if r.rule == "site.net"]
    assert issue.code == "unreachable"
    assert "site.licence" in issue.why


def test_symptom_in_none_may_be_shown_by_a_near_miss(tmp_path):
    none = GONE + "\n  back: {text: 'licence server hydra answered'}\nwhen: {any: [gone], none: [back]}"
    assert codes(tmp_path, (GONE, none)) == []


def test_issue_with_a_reason_is_ignored(tmp_path):
    reason = "action: retry\nlint: {ignore: {unknown-word: a patched server prints it}}"
    changes = [("{server} is gone", "{port} is gone"), ("action: retry", reason)]
    assert codes(tmp_path, *changes) == []
    assert codes(tmp_path, ("action: retry", "action: retry\nlint: {ignore: {slow: ''}}")) == ["faulty"]


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """Return a folder with a broken file and two rules with issues."""
    folder = tmp_path_factory.mktemp("own")
    unknown = ("{server} is", "{port} is")
    rule_file(folder, "site.broken", "title: [unclosed")
    rule_file(folder, "site.licence", LICENCE, ("Start it again", "TODO"), unknown)
    rule_file(folder, "site.printer", LICENCE.replace("licence", "printer"), unknown)
    return folder


def test_all_faults_are_printed_at_once_with_line_reason_and_help(own):
    result = call("rules", "lint", "--rules", own, "site.licence", code=1)
    assert f"{own}/site/licence.yaml:4: error: still to be written: TODO [todo]" in result.stderr
    assert f"{own}/site/broken.yaml:" in result.stderr
    assert f"{own}/site/licence.yaml:1: warning: nothing fills {{port}} [unknown-word]\n  why: " in result.stdout
    assert "\n  help: name a group" in result.stdout
    assert "1 rule, 2 errors, 1 warning" in result.stdout


def test_issues_as_json_have_file_and_line(own):
    entries = json.loads(call("rules", "lint", "-f", "json", "--rules", own, "site.licence", code=1).stdout)
    places = {(r["file"], r["line"], r["code"], r["severity"]) for r in entries}
    assert (f"{own}/site/licence.yaml", 4, "todo", "error") in places


def test_warnings_fail_only_with_strict(own):
    (own / "site" / "broken.yaml").unlink()
    call("rules", "lint", "--rules", own, "site.printer", code=0)
    call("rules", "lint", "--rules", own, "site.printer", "--strict", code=1)


def test_a_name_that_no_rule_has_is_wrong_usage():
    assert "no.such" in call("rules", "lint", "no.such", code=2).stderr

"""The rulebook: good files become rules, bad files show every fault with its line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from rule_texts import BOOK

from logdoctor.model import RulesError
from logdoctor.reasoning.findings.wording import fill
from logdoctor.ruleset import rule_files, shipped_rules
from logdoctor.ruleset.loading import load
from logdoctor.ruleset.words_reader import spell_out

ROOT = Path(__file__).resolve().parent.parent
GOOD = """\
title: The port {port} is taken
cause: Another process listens on port {port}.
action: retry
remedy: ['ss -ltnp | grep {port}']
references: ['https://example.org/ports']
symptoms:
  taken: {text: 'Address already in use.*port (?P<port>\\d+)'}
examples: [{log: 'Address already in use: port 29500'}]
near_misses: [{is: healthy, log: 'port 29500 is free'}]
"""


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        path = tmp_path / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def faults(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(RulesError) as caught:
        load([folder(tmp_path, net__taken=text)])
    return [str(e) for e in caught.value.errors]


def test_the_path_below_the_folder_is_the_id(tmp_path):
    book = load([folder(tmp_path, net__port_taken=GOOD)])
    assert [r.id for r in book.rules] == ["net.port_taken"]


def test_without_a_condition_any_symptom_suffices(tmp_path):
    assert load([folder(tmp_path, net__a=GOOD)]).rules[0].when == {"any": ["taken"]}


def test_all_faults_of_a_file_are_shown_at_once_each_with_its_line(tmp_path):
    bad = GOOD.replace("action: retry", "action: pray").replace("text: 'Addr", "txt: 'Addr") + "colour: red\n"
    errors = faults(tmp_path, bad)
    assert len(errors) == 3
    assert any("taken.yaml:3: 'action' is 'pray'" in f for f in errors)
    assert any("taken.yaml:7" in f and "not understood" in f for f in errors)
    assert any("taken.yaml:10: unknown key 'colour'" in f for f in errors)


@pytest.mark.parametrize("key", ["cause", "remedy", "references", "examples", "near_misses", "symptoms"])
def test_a_rule_that_lacks_a_part_is_refused(tmp_path, key):
    document = yaml.safe_load(GOOD)
    del document[key]
    assert any(f"'{key}' is missing" in f for f in faults(tmp_path, yaml.safe_dump(document)))


def test_a_broken_regular_expression_is_shown_with_its_reason(tmp_path):
    assert any(
        "unterminated" in f or "missing )" in f
        for f in faults(tmp_path, GOOD.replace("already in use", "already (in use"))
    )


def test_broken_yaml_is_a_fault_with_a_line(tmp_path):
    assert "not valid YAML" in faults(tmp_path, "title: [unclosed\naction: stop\n")[0]


def test_a_key_that_stands_twice_is_a_fault(tmp_path):
    assert any("stands twice" in f for f in faults(tmp_path, GOOD + "title: again\n"))


def test_a_condition_on_an_unknown_symptom_is_a_fault(tmp_path):
    assert any("'gone' is no symptom" in f for f in faults(tmp_path, GOOD + "when: {any: [taken, gone]}\n"))


def test_explaining_an_unknown_signature_is_a_fault(tmp_path):
    because = "because: [{of: no.such, reason: it follows}]\n"
    assert any("nothing has" in f for f in faults(tmp_path, GOOD + because))


def test_because_without_a_reason_is_a_fault(tmp_path):
    assert any("each needs its reason" in f for f in faults(tmp_path, GOOD + "because: [{of: net.dns}]\n"))


def test_action_that_differs_from_its_signature_is_a_fault(tmp_path):
    (tmp_path / "signatures.tsv").write_text("net.taken\tnetwork\tstop\tnot set up\t-\tPort taken\n")
    assert any("agrees on 'stop'" in f for f in faults(tmp_path, GOOD))


def test_action_of_a_rule_is_that_of_its_signature(tmp_path):
    (tmp_path / "signatures.tsv").write_text("net.taken\tnetwork\tstop\tnot set up\t-\tPort taken\n")
    assert load([folder(tmp_path, net__taken=GOOD.replace("action: retry\n", ""))]).rules[0].action == "stop"


def test_rule_of_an_unlisted_signature_says_its_action(tmp_path):
    assert any("taken.yaml:1: 'action' is missing" in f for f in faults(tmp_path, GOOD.replace("action: retry\n", "")))


LIKE = """\
like: net.taken
title: The port is taken again
symptoms:
  again: {text: 'port taken again'}
examples: [{log: 'port taken again'}]
near_misses: [{is: healthy, log: 'port 29500 is free'}]
"""


def test_a_rule_takes_what_it_lacks_from_the_one_that_it_is_like_in_all_languages(tmp_path):
    chinese = "net.taken: {title: 端口被占用, cause: 另一个进程占用端口。, remedy: [查看端口]}\nnet.again: {title: 端口又被占用}\n"
    book = load([folder(tmp_path, net__taken=GOOD, net__again=LIKE + "action: stop\n", i18n__zh__net=chinese)])
    (again,) = (rule for rule in book.rules if rule.id == "net.again")
    assert [again.say(lang).title for lang in ("en", "zh")] == [("The port is taken again",), ("端口又被占用",)]
    assert [again.say(lang).remedy[0].do for lang in ("en", "zh")] == [("ss -ltnp | grep {port}",), ("查看端口",)]
    assert [rule.action for rule in book.rules] == ["stop", "retry"]


@pytest.mark.parametrize("other", ["net.none", "net.again"])
def test_a_rule_like_no_other_rule_is_a_fault(tmp_path, other):
    with pytest.raises(RulesError, match=f"there is no rule '{other}'"):
        load([folder(tmp_path, net__taken=GOOD, net__again=LIKE.replace("net.taken", other))])


def test_a_users_folder_overrides_a_rule_of_the_same_id(tmp_path):
    ours, theirs = tmp_path / "a", tmp_path / "b"
    folder(ours, net__taken=GOOD)
    folder(theirs, net__taken=GOOD.replace("title: The", "title: Our"))
    assert load([ours, theirs]).rules[0].say("en").title[0].startswith("Our")


@pytest.mark.parametrize(
    "part",
    [
        "when: {any: }",
        "when: {any: [], phase: }",
        "symptoms: {taken: {kind: 5}}",
        "symptoms: {taken: {kind: [a]}}",
        "symptoms: {taken: {text: port, dialect: {a: b}}}",
        "symptoms: {taken: {text: port, level: 5}}",
        "symptoms: {taken: {text: port, level: [[1]]}}",
        "symptoms: {taken: {text: port, fields: {port: {a: b}}}}",
        "symptoms: {taken: {text: port, fields: {port: [[1]]}}}",
        "examples: [{log: 'Address already in use: port 29500', finds: 5}]",
    ],
)
def test_a_part_of_a_wrong_form_is_a_fault_and_no_crash(tmp_path, part):
    document = yaml.safe_load(GOOD) | yaml.safe_load(part)
    assert faults(tmp_path, yaml.safe_dump(document))


@pytest.mark.parametrize(
    ("sentence", "forms"),
    [
        (
            "{Rank {rank}|A process}{host? on {host}} ended",
            ["Rank {rank}{host? on {host}} ended", "A process{host? on {host}} ended"],
        ),
        ("{{a}|A} met {{b}|B}", ["{a} met {b}", "{a} met B", "A met {b}", "A met B"]),
        ("{{a} of {{b}|B}|A}", ["{a} of {b}", "{a} of B", "A"]),
        ("{claim.peer? It ended.|It may have ended.}", ["{claim.peer? It ended.|It may have ended.}"]),
        ("`a|b` {c}", ["`a|b` {c}"]),
        ("}{{a}|A}{b|", ["}{a}{b|", "}A{b|"]),
    ],
)
def test_alternatives_of_a_sentence_become_its_forms(sentence, forms):
    assert [*spell_out(sentence)] == forms


@pytest.mark.parametrize("part", ["title", "cause", "remedy"])
def test_sentence_of_very_many_alternatives_is_a_fault(part, tmp_path):
    document = yaml.safe_load(GOOD) | {part: "{{a}|b}" * 30}
    assert "more than 8 alternatives" in faults(tmp_path, yaml.safe_dump(document))[0]


@pytest.mark.parametrize(
    "bomb",
    [
        "a0: &a0 [x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
        "title: &a [*a]\n",
    ],
)
def test_aliases_that_unfold_without_end_are_a_fault(tmp_path, bomb):
    assert "too many parts" in faults(tmp_path, bomb)[0]


def test_faulty_symptom_is_one_fault_and_not_another_where_it_is_used(tmp_path):
    (error,) = faults(tmp_path, GOOD.replace("already in use", "already (in use") + "when: {any: [taken]}\n")
    assert "regular expression" in error


def test_dangling_link_is_a_fault_without_the_help_to_save_the_file(tmp_path):
    folder(tmp_path, net__taken=GOOD)
    (tmp_path / "net" / "lost.yaml").symlink_to("lost.yaml")
    with pytest.raises(RulesError, match="see where it leads"):
        load([tmp_path])


# ── laws over all shipped rules ─────────────────────────────────────────────────────────────────────────────────────


SCHEMA = json.loads((shipped_rules() / "rule.schema.json").read_text("utf-8"))
FILES = {file.id: file.path for file in rule_files(shipped_rules())}
UGLY = re.compile(r"  | ,| \.(?!\w|/)|\(\)|（）|: ?[.,;]|：[。，；]|,,|\.\.|，，|。。|[:：]$|[{}]|，。|；。|;\.")
"""Blanks and punctuation that remain around left-out words."""
EDITOR = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_every_rule_file_fits_the_schema_for_editors(rule):
    EDITOR.validate(yaml.load(FILES[rule.id].read_bytes(), yaml.CSafeLoader))


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_every_rule_speaks_chinese_with_the_same_number_of_remedies(rule):
    english, chinese = rule.say("en"), dict(rule.words).get("zh")
    assert chinese, "the text in zh is missing"
    assert len(chinese.remedy) == len(english.remedy)
    assert any("\u4e00" <= c <= "\u9fff" for c in chinese.title[0] + chinese.cause[0])


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_texts_of_a_rule_read_well_with_no_value_or_a_single_value(rule):
    for _, words in rule.words:
        for text in (*words.title, *words.cause):
            names = set(re.findall(r"\{(\w+(?:\.\w+)?)[|?}]", text))
            for filled in (fill(text, {}), *(fill(text, {name: "X7"}) for name in sorted(names))):
                assert not UGLY.search(filled), filled


def test_benign_rules_explain_nothing():
    assert [r.id for r in BOOK.rules if r.role == "benign" and r.because] == []


def test_own_files_that_evidence_names_exist():
    named = {path for rule in BOOK.rules for path in re.findall(r"\blogdoctor/[\w/.-]+\w", rule.evidence)}
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    assert [rule.id for rule in BOOK.rules if re.search(r"\blogdoctor: (?!logdoctor/)", rule.evidence)] == []

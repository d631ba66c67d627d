"""Forms of sentences, titles, steps and commands, filled with values of a job."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from rule_texts import BOOK, LICENCE, rule_file

from logdoctor.authoring.language_checks import ABSENCE, GUARDED
from logdoctor.authoring.lint import lint
from logdoctor.model import DecisionRow, RulesError, StepWords, Words
from logdoctor.reasoning.findings.wording import (
    TITLE,
    Circumstances,
    choose_steps,
    fill,
    fill_forms,
    fill_step,
    fill_title,
    fill_words,
    slots_of,
    tells_equals_apart,
)
from logdoctor.ruleset.loading import load

pytestmark = pytest.mark.xdist_group("rules")
FORMS = ("Rank {rank} on {host} died{pid? (pid {pid})}", "Rank {rank} died", "A process died")
SLURM = StepWords(("Ask Slurm.",), ("sacct -j {job}",), (("scheduler", ("slurm",)),))
POD = StepWords(("Ask the pod.",), when=(("scheduler", ("kubernetes",)),))
OPEN = StepWords(("Ask the scheduler.",), when=(("lacks", ("scheduler",)),))
CHECK = StepWords(("Check.",))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"rank": 3, "host": "n1", "pid": 7}, "Rank 3 on n1 died (pid 7)"),
        ({"rank": 3, "host": "n1"}, "Rank 3 on n1 died"),
        ({"rank": 0, "host": ""}, "Rank 0 died"),
        ({"host": "n1"}, "A process died"),
    ],
)
def test_first_form_whose_slots_are_known_is_told(values, told):
    assert fill_forms(FORMS, values) == told


def test_insertion_is_left_out_if_a_slot_in_it_is_unknown():
    assert fill("It died{host? on {host}:{port}}", {"host": "n1"}) == "It died"


@pytest.mark.parametrize("template", ["It said {m}.", "It said{m? {m}}.", "它说 {m}。"])
def test_message_that_ends_with_a_full_stop_gets_no_second_one(template):
    assert fill(template, {"m": "wait..."}).count(".") <= 1


def test_long_title_is_cut_between_words_at_the_end_of_its_longest_value():
    message = "first " + "word " * 40 + "last"
    title = fill_title(("Rank {rank} raised {error}: {message}",), {"rank": 3, "error": "OSError", "message": message})
    assert TITLE - 10 < len(title) <= TITLE
    assert title.startswith("Rank 3 raised OSError: first word")
    assert title.endswith(" word…")
    assert {*title.split()} == {"Rank", "3", "raised", "OSError:", "first", "word", "word…"}


@pytest.mark.parametrize(
    ("message", "verb"),
    [
        (
            "write_one() missing 1 required positional argument: 'layout' of the store that keeps the checkpoints",
            "missing",
        ),
        ("could not open the shared object file of the plugin: no such file or directory in any of the paths", "open"),
    ],
)
def test_title_keeps_the_verb_of_a_message(message, verb):
    title = fill_title(("Worker failure: {message}",), {"message": message})
    assert verb in title
    assert title.endswith("…")
    assert len(title) <= TITLE


@pytest.mark.parametrize(
    ("form", "values", "told"),
    [
        ("It got {got} instead of {wanted}", {"got": 3, "wanted": 4}, "It got 3 instead of 4"),
        ("It got {got} instead of {wanted}", {"got": 3, "wanted": "3"}, "It failed"),
        ("{size} on one rank and {other_size} on another", {"size": 3, "other_size": 3}, "It failed"),
        ("Rank {rank} of {size} failed", {"rank": 3, "size": 3}, "Rank 3 of 3 failed"),
    ],
)
def test_two_equal_values_are_not_told_as_a_difference(form, values, told):
    assert fill_forms((form, "It failed"), values) == told


def test_no_rule_with_other_forms_tells_equal_values_apart():
    for rule in BOOK.rules:
        for lang, _ in rule.words:
            for forms in (rule.say(lang).title, rule.say(lang).cause):
                values = dict.fromkeys(slots_of(rule.say(lang)), "x")
                if len(forms) > 1 and not tells_equals_apart(forms[-1], values):
                    chosen = [form for form in forms[:-1] if fill_forms(forms, values) == fill(form, values)]
                    assert not any(tells_equals_apart(form, values) for form in chosen), rule.id


def test_long_path_in_a_title_is_cut_in_its_middle():
    title = fill_title(("{path} is missing",), {"path": "/data/" + "x" * 120 + "/index.json"})
    assert len(title) == TITLE
    assert title.startswith("/data/x")
    assert title.endswith("x/index.json is missing")


def test_cause_keeps_a_message_that_a_title_cuts():
    assert fill_forms(("{message}",), {"message": "m" * 150}) == "m" * 150


def test_step_holds_the_command_filled():
    step = fill_step(SLURM, {"job": "48213"})
    assert (step.text, step.commands) == ("Ask Slurm.", ("sacct -j 48213",))


@pytest.mark.parametrize("job", [None, "1; rm -rf /", "$(id)", "-h", "a b", "a\nb", ("1", "2"), "<job>", "'"])
def test_command_with_an_unknown_or_unsafe_value_is_left_out(job):
    assert fill_step(SLURM, {"job": job} if job else {}).commands == ()


@pytest.mark.parametrize(
    ("steps", "tools", "told"),
    [
        ((SLURM, POD, OPEN, CHECK), {"scheduler": ["slurm"]}, (SLURM, CHECK)),
        ((SLURM, POD, OPEN, CHECK), {"scheduler": ["flux"]}, (CHECK,)),
        ((SLURM, POD, OPEN, CHECK), {}, (OPEN, CHECK)),
        ((SLURM, POD), {}, (SLURM, POD)),
        ((SLURM, POD), {"scheduler": ["flux"]}, ()),
    ],
)
def test_steps_that_fit_the_job_are_told(steps, tools, told):
    assert tuple(choose_steps(steps, {}, Circumstances(tools))) == told


@pytest.mark.parametrize(("key", "fits"), [("knows", True), ("lacks", False)])
def test_step_may_need_or_refuse_a_known_slot(key, fits):
    step = StepWords(("Drain {host}.",), when=((key, ("host",)),))
    assert bool(choose_steps((step, CHECK), {"host": "n1"}, Circumstances({}))[:-1]) is fits
    assert bool(choose_steps((step, CHECK), {}, Circumstances({}))[:-1]) is not fits


def test_all_parts_are_filled():
    words = Words(("{rank} died",), ("{rank} was killed",), (SLURM, CHECK))
    filled = fill_words(words, {"rank": 3}, Circumstances({"scheduler": ("slurm",)}))
    assert (filled.title, filled.cause, len(filled.steps)) == ("3 died", "3 was killed", 2)


STEP = "remedy: [{do: [Ask {server}, Ask it], run: 'ping {server}', when: {scheduler: slurm}}]"
REMEDY = "remedy: ['Start it again']"
CHINESE = "action: retry\ntext: {zh: {title: 许可, cause: 无应答, remedy: [询问]}}"


def test_rule_file_gives_forms_commands_and_conditions(tmp_path):
    step = STEP.replace("Ask {server}", "'Ask {server}'")
    rule_file(tmp_path, "site.licence", LICENCE, (REMEDY, step), ("action: retry", CHINESE))
    rule = load([tmp_path]).rules[0]
    ask = StepWords(("Ask {server}", "Ask it"), ("ping {server}",), (("scheduler", ("slurm",)),))
    assert rule.say("en").remedy == (ask,)
    assert rule.say("zh").remedy == (StepWords(("询问",), ask.run, ask.when),)


@pytest.mark.parametrize(
    "step",
    ["{run: ls}", "{do: x, why: y}", "{do: x, when: {scheduler: slrum}}", "{do: x, when: {site: a}}", "{do: [x, 3]}"],
)
def test_faulty_step_is_a_fault_of_the_file(step, tmp_path):
    rule_file(tmp_path, "site.licence", LICENCE, (REMEDY, f"remedy: [{step}]"))
    with pytest.raises(RulesError):
        load([tmp_path])


def test_decision_in_a_rule_file_wins_over_the_table(tmp_path):
    rule_file(tmp_path, "site.licence", LICENCE, ("action: retry", "action: retry\ndecision: fix-first"))
    (tmp_path / "decisions.tsv").write_text("site.licence\t-\trequeue\n")
    assert load([tmp_path]).rules[0].decisions == (DecisionRow("", "fix-first"),)


LONG_TITLE = f"title: The licence server is gone{' for good' * 9}"


@pytest.mark.parametrize(
    "text", ["did not answer. No line says why.", "did not answer. The log does not name the node."]
)
def test_sentence_that_states_an_absence_needs_a_guard(text, tmp_path):
    rule_file(tmp_path, "site.licence", LICENCE, ("A licence server did not answer.", f"A licence server {text}"))
    assert [issue.code for issue in lint([tmp_path]).issues if issue.severity == "error"] == ["denial"]


@pytest.mark.parametrize("text", ["没有日志行说明原因。", "日志没有写出节点。"])
def test_chinese_sentence_that_states_an_absence_needs_a_guard(text):
    assert ABSENCE.search(text)
    assert not ABSENCE.search(GUARDED.sub("", f"{{denies.reason?{text}}}"))


def test_absence_that_the_conditions_of_a_rule_show_needs_no_guard():
    assert not ABSENCE.search("No line says that a step was skipped. 没有一行说明跳过了某一步。")


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("last-form", "'Start it again'", "'Start {job} again'"),
        ("long-title", "title: ['The licence server {server} is gone', A licence server is gone]", LONG_TITLE),
        ("long-cause", "cause: ['The", f"cause: ['The {'very ' * 25}"),
        ("long-remedy", "'Start it again'", f"'Start {'it ' * 60}'"),
        ("placeholder", "'Start it again'", "{do: Look, run: 'sacct -j JOB'}"),
        ("placeholder", "'Start it again'", "{do: Look, run: 'ping <host>'}"),
    ],
)
def test_lint_notes_texts_that_do_not_follow_the_language(code, old, new, tmp_path):
    rule_file(tmp_path, "site.licence", LICENCE, (old, new))
    assert code in {issue.code for issue in lint([tmp_path]).issues if issue.severity == "note"}


def test_step_that_needs_a_known_slot_may_use_it_in_its_last_form(tmp_path):
    step = "{do: 'Cancel {job}', when: {knows: job}}"
    rule_file(tmp_path, "site.licence", LICENCE, ("'Start it again'", step))
    assert lint([tmp_path]).issues == []


def test_title_takes_a_shorter_form_before_it_cuts_a_value():
    forms = ("Rank {rank} refused its settings: {message}", "Rank {rank} refused its settings")
    assert fill_title(forms, {"rank": 3, "message": "m" * 80}) == "Rank 3 refused its settings"
    assert fill_title(forms, {"rank": 3, "message": "no such key"}) == "Rank 3 refused its settings: no such key"


@pytest.mark.parametrize(
    ("form", "values", "text"),
    [
        ("Rank {rank} reports it", {"rank": (3, 6)}, "Ranks 3,6 report it"),
        ("Rank {rank} reports it", {"rank": 3}, "Rank 3 reports it"),
        ("Rank {rank}{host? on {host}} was killed", {"rank": (3, 6), "host": "n1"}, "Ranks 3,6 on n1 were killed"),
        ("{host} does not answer", {"host": ("n1", "n2")}, "n1, n2 do not answer"),
        ("It is slow. {awaited} is missing", {"awaited": "ranks 3,6"}, "It is slow. ranks 3,6 are missing"),
        ("The GPU of rank {rank} is full", {"rank": (3, 6)}, "The GPU of ranks 3,6 is full"),
        ("Checkpoint that rank {rank} loads has no x", {"rank": (3, 6)}, "Checkpoint that ranks 3,6 load has no x"),
    ],
)
def test_verb_agrees_with_the_number_of_ranks_and_hosts(form, values, text):
    assert fill_forms((form,), values) == text


SUBJECTS = ("rank", "ranks", "host", "hosts", "group_rank", "peer_rank", "behind", "died", "missing")
SINGULAR = re.compile(r"(?:^|[.;:] |that )(?:[Rr]anks? 3,6|n1, n2)(?: on n1, n2)? (?:is|was|has|does|[a-z]*[^\Ws]s)\b")


def test_no_sentence_of_a_rule_tells_several_in_the_singular():
    several = {name: ("n1", "n2") if name.startswith("host") else (3, 6) for name in SUBJECTS}
    words = [rule.say("en") for rule in BOOK.rules]
    sentences = {
        fill(form, defaultdict(lambda: "x", several)) for each in words for text in each.texts for form in text
    }
    assert [sentence for sentence in sentences if SINGULAR.search(sentence)] == []


def test_several_ranks_have_no_plural_in_chinese():
    assert fill_forms(("{host} 上的 rank {rank} 被杀死",), {"host": "n1", "rank": (0, 1)}) == "n1 上的 rank 0-1 被杀死"

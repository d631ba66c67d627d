"""Checks of the language of rule texts: old slots, last forms, lengths, commands with placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from logdoctor.authoring.lint_issue import LintIssue, RuleSource
from logdoctor.authoring.tracing import Trace
from logdoctor.model import Finding, Value, Words
from logdoctor.model.rule import Forms
from logdoctor.model.tools import TOOLS, Tools
from logdoctor.pack.regexes import compiled
from logdoctor.pack.yaml_lines import Path
from logdoctor.reasoning.findings.values import OF_CULPRIT, FindingValues
from logdoctor.reasoning.findings.wording import (
    OPEN,
    TITLE,
    Circumstances,
    choose_steps,
    fill_forms,
    fill_step,
    fill_title,
    find_old_slots,
    is_known,
    needed_slots,
)

CAUSE_WORDS = 25
"""Words of the first sentence of a cause."""
REMEDY_WORDS = 60
OFTEN_UNKNOWN = set("job ranks nranks last_progress awaited last_awaited claim peer peer_host peer_name".split()) | {
    *OF_CULPRIT
}
"""Slots that a log may leave open, whatever the examples show."""
VERSION = "_version"
PLACEHOLDER = re.compile(
    r"<[^<>]*>|…|\.\.\.|"
    r"(?<![-$\w])(?:JOB|JOBID|JOB_ID|FILE|NODE|HOST|PID|RANK|BUS|PORT|DIR|SERVER|ADDRESS|USER|ID|N)(?![\w=])"
)
GUARDED = re.compile(r"\{denies\.\w+\?[^{}]*\}")
ABSENCE = re.compile(
    r"(?i)\bno (?:log )?lines? (?:says?|shows?|names?|tells?|gives?) (?!that\b)"
    r"|\b(?:logs?|lines?|messages?|files?|it|\w+) (?:does|do) not (?:say|show|name|tell|give)"
    r" (?:for which|which|who|why|what|how|by whom|them|the (?:reason|node|peer|rank|host|device|missing|other))\b"
    r"|\b(?:logs?|lines?|messages?|files?) (?:holds?|shows?|gives?|names?|tells?)"
    r" no (?:other|reason|further reason|name|traceback|stack)\b"
    r"|没有(?:一行|日志行)(?:说明|显示|写出)(?!.{0,8}(?:跳过|恢复|得到|完成|等待))"
    r"|(?:日志|消息|该行|这一行)(?:中)?没有(?:写出|写明|说明|给出|指明|显示(?:原因|其他失败|结束的其他原因|它在等待哪))"
    r"|没有(?:说明|写出)(?:原因|它们?是谁|在等哪)"
)
"""Words that say that the log does not tell a reason, a name or a stack. That a thing did not happen ("no line says
that it came back") is shown by the conditions of the rule."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def check_language(source: RuleSource, examples: Sequence[Trace]) -> Iterator[LintIssue]:
    findings = [f for trace in examples for f in trace.findings if f.rule.id == source.rule.id]
    for lang, words in source.rule.words:
        top: Path = () if lang == "en" else ("text", lang)
        for part, forms, known in _sentences(source.rule.say(lang), top):
            yield from _check_forms(source, part, forms, known, lang, findings)
        yield from _check_title(source, (*top, "title"), words, lang, findings)
    english = source.rule.say("en")
    yield from _check_cause(source, english, findings)
    yield from _check_remedy(source, english, findings)


def _sentences(words: Words, top: Path) -> Iterator[tuple[Path, Forms, Sequence[str]]]:
    """Yield the forms of each sentence after its place, with the slots that are known where it is told."""
    yield (*top, "title"), words.title, ()
    yield (*top, "cause"), words.cause, ()
    for number, step in enumerate(words.remedy):
        yield (*top, "remedy", number), step.do, dict(step.when).get("knows", ())


def _check_forms(
    source: RuleSource, part: Path, forms: Forms, known: Sequence[str], lang: str, findings: Sequence[Finding]
) -> Iterator[LintIssue]:
    old = sorted({slot for form in forms for slot in find_old_slots(form)})
    if old:
        what = f"the words for an unknown value stand inside the sentence: {', '.join(old)}"
        yield source.issue("old-slot", part, what, "", "write {words with {slot}|other words}")
    if untold := next((after for form, after in pairwise(forms) if _is_always_told(form, part)), ""):
        why = "the form before it needs no slot"
        yield source.issue("never-told", part, f"a form is never told: {untold}", why, "put it first, or take it out")
    for form in forms:
        if (absence := ABSENCE.search(GUARDED.sub("", form))) and source.rule.role != "benign":
            cure = "write it as {denies.reason? The log does not say why.}, or frames or names"
            yield source.issue("denial", part, f"a sentence states an absence: {absence[0].strip()}", "", cure)
    names = {*needed_slots(forms[-1])}.difference(known)
    open_slots = sorted(name for name in names if _may_be_unknown(name, lang, findings))
    if open_slots:
        what = f"the last form needs {', '.join(f'{{{name}}}' for name in open_slots)}"
        yield source.issue("last-form", part, what, "a log may not tell it", "add a form without it")


def _is_always_told(form: str, part: Path) -> bool:
    """Return whether no later form is told. After a title with insertions that is too long a shorter one is."""
    return not (OPEN.search(form) if "title" in part else needed_slots(form))


def _may_be_unknown(name: str, lang: str, findings: Sequence[Finding]) -> bool:
    if name.partition(".")[0] in OFTEN_UNKNOWN or name.endswith(VERSION) or not findings:
        return True
    return not all(is_known(FindingValues(finding, lang).get(name)) for finding in findings)


def _check_title(
    source: RuleSource, part: Path, words: Words, lang: str, findings: Sequence[Finding]
) -> Iterator[LintIssue]:
    titles = [fill_title(words.title, FindingValues(f, lang)) for f in findings] or [fill_title(words.title, {})]
    longest = max(titles, key=len)
    if len(longest) > TITLE:
        yield source.issue("long-title", part, f"a title has {len(longest)} characters: {longest}")


def _check_cause(source: RuleSource, words: Words, findings: Sequence[Finding]) -> Iterator[LintIssue]:
    texts = [fill_forms(words.cause, FindingValues(f, "en")) for f in findings] or [fill_forms(words.cause, {})]
    longest = max(len(SENTENCE_END.split(text)[0].split()) for text in texts)
    if longest > CAUSE_WORDS:
        yield source.issue("long-cause", ("cause",), f"the first sentence of the cause has {longest} words")


def _check_remedy(source: RuleSource, words: Words, findings: Sequence[Finding]) -> Iterator[LintIssue]:
    """Check the length of the remedy for each tool of a job, and the commands."""
    values: Mapping[str, Value] = FindingValues(findings[0], "en") if findings else {}
    jobs: list[Tools] = [{}, *({kind: [tool]} for kind, table in TOOLS.items() for tool in {*table.values()})]
    remedies = [choose_steps(words.remedy, values, Circumstances(tools)) for tools in jobs]
    length = max(sum(len(fill_step(step, values).text.split()) for step in steps) for steps in remedies)
    if length > REMEDY_WORDS:
        yield source.issue("long-remedy", ("remedy",), f"the remedy has {length} words")
    for number, step in enumerate(words.remedy):
        yield from _check_help(source, number, "\n".join((*step.do, *step.run)))
        for command in step.run:
            if found := PLACEHOLDER.search(command):
                what = f"the command holds a placeholder: {found[0]}"
                cure = "use a slot, or leave the command out"
                yield source.issue("placeholder", ("remedy", number), what, "it cannot be copied as it stands", cure)


def _check_help(source: RuleSource, number: int, text: str) -> Iterator[LintIssue]:
    """Find advice that threads showed to be useless or harmful for this failure."""
    for advice in source.rule.no_help:
        if found := compiled(advice.text).search(text):
            what = f"the step advises what does not help: {found[0]}"
            yield source.issue("no-help", ("remedy", number), what, advice.because, "take the step out")

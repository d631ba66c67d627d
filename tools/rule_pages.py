"""The rules as pages to read, in Markdown: ``python tools/rule_pages.py OUT_FOLDER``.

There is one page per family and language, and one table of all rules per language. Pages hold only what the rule files
hold. `docs/site/pages.py` puts them into the site.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from logdoctor.model import Defects, Example, Rule, Symptom
from logdoctor.reasoning.findings.wording import fill_forms, fill_step
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load

Labels = Mapping[str, str]

LABELS: dict[str, dict[str, str]] = {
    "en": {
        "index": "All rules",
        "note": "Made from the rule files by `make docs`.",
        "table": "| rule | what it says | what to do with the job |",
        "stop": "fix it first",
        "retry": "start it again",
        "exclude": "drain the host or card, then start again",
        "none": "nothing",
        "signature": "Reported as",
        "action": "The job",
        "role": "Role",
        "strength": "How sure",
        "cause": "Cause",
        "symptom": "what the failure looks like from outside",
        "fallback": "a catch-all, used where no other rule knows the line",
        "benign": "known to be harmless",
        "remedy": "What to do",
        "confirmed": "confirmed by",
        "no_help": "What does not help",
        "known": "How logdoctor knows",
        "when": "Holds when",
        "evidence": "No log here shows it; source",
        "explains": "Explains",
        "references": "Read more",
        "example": "Example",
        "near_miss": "Not this",
    },
    "zh": {
        "index": "所有规则",
        "note": "由 `make docs` 根据规则文件生成。",
        "table": "| 规则 | 结论 | 对作业的处理 |",
        "stop": "先修复",
        "retry": "重新启动",
        "exclude": "隔离该主机或 GPU 后重新启动",
        "none": "无需处理",
        "signature": "报告为",
        "action": "作业",
        "role": "角色",
        "strength": "把握",
        "cause": "原因",
        "symptom": "从外部看到的故障表现",
        "fallback": "兜底规则，仅在其他规则都不认识该行时使用",
        "benign": "已知无害",
        "remedy": "处理办法",
        "confirmed": "证实于",
        "no_help": "无效做法",
        "known": "判断依据",
        "when": "成立条件",
        "evidence": "本项目没有此类日志；来源",
        "explains": "可解释",
        "references": "参考",
        "example": "示例",
        "near_miss": "不属于此规则",
    },
}
SUFFIX = {"en": ".md", "zh": ".zh.md"}


def write_rule_pages(folder: Path) -> int:
    """Write the pages of the shipped rules into ``folder``.  Return the number of pages."""
    pages = rule_pages(load([shipped_rules()]).rules)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return len(pages)


def rule_pages(rules: Iterable[Rule]) -> dict[str, str]:
    """Return file name -> page: ``net.md``, ``net.zh.md`` …, and the table ``README.md``."""
    families: dict[str, list[Rule]] = {}
    for rule in rules:
        families.setdefault(rule.id.partition(".")[0], []).append(rule)
    pages = {}
    for lang, labels in LABELS.items():
        pages["README" + SUFFIX[lang]] = _text(_index(families, lang, labels))
        for family, members in families.items():
            pages[family + SUFFIX[lang]] = _text(_page(family, members, lang, labels))
    return pages


def defects_page(defects: Defects) -> str:
    """Return the page of known defects."""
    return _text(_defects(defects))


def _defects(defects: Defects) -> Iterator[str]:
    """Yield one table for each package. The site has a search."""
    yield "# Known defects"
    yield "\nA defect is told if the answer has its signature, its condition holds, and a line of the log tells a"
    yield "version that has it. Made from `rules/defects.tsv` by `make docs`."
    for package in sorted({row.package for row in defects.rows}):
        yield f"\n## {defects.name(package)}\n"
        yield "| versions | mended in | signature | shows by | defect | way round | source |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for row in (row for row in defects.rows if row.package == package):
            versions = (
                row.last if row.first == row.last else f"{row.first}–{row.last}" if row.first else f"≤ {row.last}"
            )
            when = _code(row.when) if row.when else ""
            cells = (versions, row.mended, f"`{row.signature}`", when, row.defect, row.way_round, row.source)
            yield f"| {' | '.join(map(_cell, cells))} |"


def _text(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _index(families: Mapping[str, Sequence[Rule]], lang: str, labels: Labels) -> Iterator[str]:
    yield f"# {labels['index']}"
    yield f"\n{labels['note']}\n"
    yield labels["table"]
    yield "| --- | --- | --- |"
    for family, members in families.items():
        for rule in members:
            title = _cell(fill_forms(rule.say(lang).title, {}))
            yield f"| [{rule.id}]({family}{SUFFIX[lang]}#{_anchor(rule)}) | {title} | {labels[rule.action]} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _anchor(rule: Rule) -> str:
    """Return the anchor of the heading that is the rule's id: ``net.link-lost`` becomes ``netlink-lost``."""
    return re.sub(r"[^\w-]", "", rule.id.lower())


def _page(family: str, members: Sequence[Rule], lang: str, labels: Labels) -> Iterator[str]:
    yield f"# {family}"
    yield f"\n{labels['note']} [{labels['index']}](README{SUFFIX[lang]})\n"
    for rule in members:
        yield from _rule(rule, lang, labels)


def _rule(rule: Rule, lang: str, labels: Labels) -> Iterator[str]:
    words = rule.say(lang)
    yield f"\n## {rule.id}\n"
    yield f"**{fill_forms(words.title, {})}**\n"
    yield f"{fill_forms(words.cause, {})}\n"
    yield f"{labels['action']}: {labels[rule.action]}. {_about(rule, labels)}\n"
    yield f"**{labels['remedy']}**\n"
    for number, words_of_step in enumerate(words.remedy, 1):
        step = fill_step(words_of_step, {})
        see = (
            f"({labels['confirmed']}: {', '.join(words_of_step.confirmed.see)})" if words_of_step.confirmed.see else ""
        )
        yield " ".join(filter(None, (f"{number}. {step.text}", *(f"`{c}`" for c in step.commands), see)))
    if lang == "en" and rule.no_help:
        yield f"\n**{labels['no_help']}**\n"
        yield from (f"- {' '.join(filter(None, (advice.because, ', '.join(advice.see))))}" for advice in rule.no_help)
    if lang == "en":
        yield from _knowledge(rule, labels)
        yield from (line for e in rule.examples for line in _example(labels["example"], e))
        yield from (line for m in rule.near_misses for line in _example(labels["near_miss"], m))
    yield f"\n**{labels['references']}**\n"
    yield from (f"- <{reference}>" for reference in rule.references)


def _about(rule: Rule, labels: Labels) -> str:
    parts = [] if rule.role == "cause" else [f"{labels['role']}: {labels[rule.role]}."]
    parts += [f"{labels['signature']} `{rule.signature}`."] if rule.signature != rule.id else []
    return " ".join([*parts, f"{labels['strength']}: {rule.strength}."])


def _knowledge(rule: Rule, labels: Labels) -> Iterator[str]:
    yield f"\n**{labels['known']}**\n"
    for symptom in rule.symptoms:
        yield f"- {symptom.name}: {', '.join(_conditions(symptom))}"
    yield f"\n{labels['when']}: {_code(_condition(rule.when))}"
    if rule.evidence:
        yield f"\n{labels['evidence']}: {rule.evidence}"
    if rule.because:
        yield f"\n{labels['explains']}: {', '.join(_code(special.of) for special in rule.because)}"


def _conditions(symptom: Symptom) -> Iterator[str]:
    for name, value in (("kind", symptom.kind), ("dialect", symptom.format), ("text", symptom.text)):
        if value:
            yield f"{name} {_code(value)}"
    if symptom.level:
        yield f"level {_code(', '.join(symptom.level))}"
    for name, wanted in symptom.fields:
        yield f"{name} {_code(wanted if isinstance(wanted, str) else ', '.join(map(str, wanted)))}"


def _condition(when: Mapping[str, Any]) -> str:
    return "; ".join(f"{key}: {_value(value)}" for key, value in when.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _code(text: str) -> str:
    """Return ``text`` as inline code, with enough backticks around it."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    edge = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{ticks}{edge}{' '.join(text.split())}{edge}{ticks}"


def _example(label: str, example: Example) -> Iterator[str]:
    truth = f": `{example.truth}`" if example.because else ""
    yield f"\n{label}{truth}{', ' + example.because if example.because else ''}\n"
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", example.log)), 3)
    yield f"{fence}text"
    yield from example.log.rstrip("\n").split("\n")
    yield fence


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the shipped rules as Markdown pages, in English and Chinese.")
    parser.add_argument("folder", type=Path, metavar="OUT_FOLDER")
    folder = parser.parse_args().folder
    print(f"{write_rule_pages(folder)} pages in {folder}")


if __name__ == "__main__":
    main()

"""The page of a signature or a rule: what it means, the decision, the steps, how it looks, and its rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from logdoctor.codes.search import squash
from logdoctor.codes.table import labels
from logdoctor.model import Confirmed, DecisionRow, DefectRow, Defects, Rule, StepWords
from logdoctor.model.tools import TOOLS

MOST_LINES = 3


def find_rules(query: str, rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules of the signature ``query``, the plainest first, or the one rule of this id."""
    wanted = squash(query)
    of_signature = [rule for rule in rules if squash(rule.signature) == wanted and rule.role != "benign"]
    if of_signature:
        return sorted(of_signature, key=lambda rule: (rule.id != rule.signature, rule.id))
    return [rule for rule in rules if squash(rule.id) == wanted]


def rule_rows(
    query: str, rules: Sequence[Rule], near: Sequence[str], lang: str, defects: Defects, *, full: bool
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a label and a text. The first pair is the name and the title."""
    rule, label = rules[0], labels(lang)
    words = rule.say(lang)
    name = rule.signature if squash(query) == squash(rule.signature) else rule.id
    yield name, _told(words.title)
    yield label["meaning"], _told(words.cause)
    yield label["decision"], decision_text(rule.decisions, lang)
    for number, (text, commands, confirmed) in enumerate(_steps(words.remedy), 1):
        told = _confirmation(confirmed, label, full=full)
        yield label["steps"] if number == 1 else "", " ".join(filter(None, (f"{number}. {text}", told)))
        yield from (("", f"   $ {command}") for command in commands)
    for number, advice in enumerate(rule.no_help):
        yield "" if number else label["no-help"], advice.because
    rows = [row for row in defects.rows if row.signature == rule.signature]
    for number, row in enumerate(rows):
        yield "" if number else label["defects"], defect_text(row, defects, lang, full=full)
    lines = [line for line in rule.examples[0].log.splitlines() if line.strip()] if rule.examples else []
    for number, line in enumerate(lines[:MOST_LINES]):
        yield "" if number else label["looks"], line.strip()
    if rule.evidence:
        yield label["evidence"], label["evidence.source"].format(evidence=rule.evidence)
    yield label["rules"], ", ".join(each.id for each in rules)
    if near:
        yield label["near"], ", ".join(near)
    for number, reference in enumerate(rule.references if full else ()):
        yield "" if number else label["read"], reference


def _condition(term: str, label: Mapping[str, str]) -> str:
    """Return a condition of a decision in words: ``if exit_code = 1 | 2``."""
    name, _, values = term.partition("=")
    if name == "says":
        return label["when.says"].format(value=values.replace(",", " | "))
    return label.get(f"when.{term}") or label["when.value"].format(value=term.replace("=", " = ").replace(",", " | "))


def _steps(remedy: Sequence[StepWords]) -> Iterator[tuple[str, list[str], Confirmed]]:
    """Yield each step once, with its commands. Steps of several tools that say the same are one."""
    same: dict[str, list[StepWords]] = {}
    for step in remedy:
        same.setdefault(_told(step.do), []).append(step)
    for text, steps in same.items():
        tools = [[name for key, names in step.when if key in TOOLS for name in names] for step in steps]
        names = ", ".join(dict.fromkeys(name for each in tools for name in each)) if all(tools) else ""
        commands = dict.fromkeys(_named(command) for step in steps for command in step.run)
        confirmed = max((step.confirmed for step in steps), key=lambda confirmed: confirmed.threads)
        yield f"{names}: {text}" if names else text, [*commands], confirmed


def _confirmation(confirmed: Confirmed, label: Mapping[str, str], *, full: bool) -> str:
    """Return how many threads confirm a step, and some of them: ``(confirmed in 7 threads: owner/repo#12)``."""
    key = "confirmed.1" if confirmed.threads == 1 else "confirmed.n"
    count = label[key].format(threads=confirmed.threads) if confirmed.threads else ""
    see = label["confirmed.see"].format(see=", ".join(confirmed.see)) if full and confirmed.see else ""
    told = "; ".join(filter(None, (count, see)))
    return f"({told})" if told else ""


def defect_text(row: DefectRow, defects: Defects, lang: str, *, full: bool) -> str:
    """Return a known defect in one line, with the way round and the source if ``full``."""
    label = labels(lang)
    versions = row.last if row.first == row.last else f"{row.first}–{row.last}"
    versions = versions if row.first else label["defect.until"].format(last=row.last)
    text = label["defect.mended" if row.mended else "defect"].format(
        name=defects.name(row.package), versions=versions, mended=row.mended, defect=defects.say(row.defect, lang)
    )
    more = [defects.say(row.way_round, lang), f"({row.source})"] if full else []
    return " ".join(filter(None, (text, *more)))


def _told(forms: Sequence[str]) -> str:
    """Return the first form without open slots, else the last one, with the names of its slots: ``<host>``."""
    from logdoctor.reasoning.findings.wording import fill

    named = [_named(form) for form in forms]
    return fill(next((text for text, form in zip(named, forms, strict=True) if text == form), named[-1]), {})


def _named(form: str) -> str:
    """Replace each slot by its name. Insertions stay."""
    from logdoctor.reasoning.findings.wording import OPEN

    return str(OPEN.sub(lambda slot: slot[0] if slot[2] == "?" else f"<{slot[1].replace('_', ' ')}>", form))


def decision_text(rows: Sequence[DecisionRow], lang: str) -> str:
    """Return the decision for each condition: ``if a step was done, requeue …; else investigate …``."""
    label = labels(lang)
    texts: list[str] = []
    for row in rows:
        when = f" {label['and']} ".join(_condition(term, label) for term in row.when.split("&") if term)
        if not when and texts:
            when = label["else"]
        texts.append(f"{when}, {label[row.do]}" if when else label[row.do])
        if not row.when:
            break
    return "; ".join(texts) or label["investigate"]

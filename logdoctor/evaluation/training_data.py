"""Training data of the classifier, from rules and labelled cases.

Each log is also used in variants: cut, with prefixes, printed by two ranks, without its decisive lines.  Variants are
needed because the classifier is mostly used for logs that no rule recognizes.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from logdoctor.classifier.features import extract_features
from logdoctor.classifier.linear_model import NO_SIGNATURE, UNKNOWN
from logdoctor.classifier.training import ReportProgress, Sample
from logdoctor.evaluation.cases import LOG_SUFFIXES
from logdoctor.model import Cause, InputError
from logdoctor.pipeline.diagnosis import diagnose, events
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.ruleset.loading import Ruleset

MAX_CHARACTERS = 1 << 20
"""Characters of the logs of a case that are used."""
USER_NAME = re.compile(r"\b[A-Za-z]\w*\.(?=py\b|sh\b)|(?<=/home/)[\w-]+|(?<=/users/)[\w-]+")
"""Names that users give to themselves and their programs."""


class LabelledLog(Struct, frozen=True):
    """A log with its label: a signature, ``healthy`` or ``unknown``.

    Logs with the same ``example`` or ``rule`` are held out together.
    """

    text: str
    label: str
    example: str
    rule: str


def load_labelled_logs(book: Ruleset, corpora: Sequence[Path] = ()) -> list[LabelledLog]:
    """Return the labelled logs of the rules and of ``corpora``.

    Rules have examples and near-misses, a corpus is a folder of cases.  Raises `InputError` if a case is faulty.
    """
    signatures = {r.id: r.signature for r in book.rules}
    logs: list[LabelledLog] = []
    for rule in book.rules:
        logs += [LabelledLog(e.log, rule.signature, f"{rule.id} {n}", rule.id) for n, e in enumerate(rule.examples)]
        for n, miss in enumerate(rule.near_misses):
            label = signatures.get(miss.truth, miss.truth)
            logs.append(LabelledLog(miss.log, label, f"{rule.id} near {n}", rule.id))
    return [*logs, *_load_cases(corpora)]


def _load_cases(corpora: Iterable[Path]) -> Iterator[LabelledLog]:
    for corpus in corpora:
        for file in sorted(corpus.rglob("case.yaml")):
            logs = sorted(p for p in file.parent.rglob("*") if p.suffix in LOG_SUFFIXES)
            text = "".join(p.read_text("utf-8", "replace") for p in logs)[:MAX_CHARACTERS]
            yield LabelledLog(text, _read_label(file), f"case {file.parent.name}", file.parent.name)


def _read_label(file: Path) -> str:
    import yaml

    try:
        case = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError("a case could not be read", str(file), str(error)) from None
    if not isinstance(case, Mapping) or not isinstance(case.get("label"), str):
        raise InputError("a case has no label", str(file), "", "add 'label: SIGNATURE'")
    return str(case["label"])


def make_samples(
    logs: Sequence[LabelledLog], pack: Knowledge, report: ReportProgress = lambda *_: None
) -> Iterator[Sample]:
    """Yield the features of each log and of its variants."""
    for n, log in enumerate(logs):
        report(log.example, n, len(logs))
        all_features = [_features(variant, pack) for variant in _variants(log.text)]
        all_features += [_half(all_features[0], part) for part in (0, 1)]
        different = [f for i, f in enumerate(all_features) if f and f not in all_features[:i]]
        yield from (Sample(f, log.label, log.example, log.rule, original=f is all_features[0]) for f in different)
        rest = "" if log.label in NO_SIGNATURE else _without_proof(log.text, pack)
        if rest and (features := _features(rest, pack)):
            label = log.label if _rule_causes(rest, pack) else UNKNOWN  # the rest of the log names no failure
            yield Sample(features, label, log.example, log.rule, original=False)


def _variants(log: str) -> Iterator[str]:
    """Yield the log itself, then its variants.

    A variant has other user names, no end, no beginning, a timestamp on each line, or each line from two ranks.
    """
    lines = log.splitlines()
    yield log
    yield USER_NAME.sub(lambda name: "main." if name[0].endswith(".") else "someone", log)
    if len(lines) > 3:  # a cut of fewer lines leaves nothing
        yield "\n".join(lines[: -(len(lines) // 3)])
        yield "\n".join(lines[len(lines) // 3 :])
    yield "\n".join(f"2031-04-05 06:07:08,901 {line}" for line in lines)
    yield "\n".join(f"[rank{rank}]: {line}" for line in lines for rank in (3, 5))


def _without_proof(log: str, pack: Knowledge) -> str:
    """Return the log without its decisive lines. Returns an empty text if no rule matches the log."""
    proof = {e.line.number for c in _rule_causes(log, pack) for e in c.evidence}
    return "\n".join(line for n, line in enumerate(log.splitlines(), 1) if n not in proof) if proof else ""


def _rule_causes(log: str, pack: Knowledge) -> tuple[Cause, ...]:
    causes = diagnose(io.BytesIO(log.encode()), name="example", knowledge=pack).causes
    return tuple(c for c in causes if c.rule)  # without guesses of the shipped model


def _features(log: str, pack: Knowledge) -> dict[int, float]:
    return extract_features(events(io.BytesIO(log.encode()), knowledge=pack))


def _half(features: Mapping[int, float], part: int) -> dict[int, float]:
    """Return one half of the features, like a log with fewer words."""
    return {b: v for b, v in features.items() if zlib.crc32(str(b).encode()) % 2 == part}

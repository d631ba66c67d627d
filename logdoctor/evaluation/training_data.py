"""What the classifier learns from: the rules' own examples and near-misses, and labelled cases of a corpus.

Every log is varied in fixed ways (cut, wrapped, told by two ranks at once, its proof taken out, words lost), because
the classifier is mostly asked where no rule recognises the log as it stands.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from logdoctor.classifier.features import features
from logdoctor.classifier.linear_model import NAMELESS, UNKNOWN
from logdoctor.classifier.training import Sample
from logdoctor.diagnosis import diagnose, events
from logdoctor.knowledge import Knowledge
from logdoctor.model import Cause, InputError
from logdoctor.rulebook.loading import Rulebook

LOG_NAMES = (".log", ".txt", ".out", ".err")
LARGEST_LOG = 1 << 20
"""Characters of a case that are learnt from."""
OWN_NAME = re.compile(r"\b[A-Za-z]\w*\.(?=py\b|sh\b)|(?<=/home/)[\w-]+|(?<=/users/)[\w-]+")
"""What users call their programs and themselves."""


class Labelled(Struct, frozen=True):
    """A log and what it is: a signature, ``healthy`` or ``unknown``.

    ``example`` names the log, ``rule`` what it was written for: held out together.
    """

    log: str
    label: str
    example: str
    rule: str


def labelled_logs(book: Rulebook, corpora: Sequence[Path] = ()) -> list[Labelled]:
    """All labelled logs of the rules and of the cases below ``corpora``.  Raises `InputError` for a faulty case."""
    named = {r.id: r.signature for r in book.rules}
    found: list[Labelled] = []
    for rule in book.rules:
        found += [Labelled(e.log, rule.signature, f"{rule.id} {n}", rule.id) for n, e in enumerate(rule.examples)]
        for n, miss in enumerate(rule.near_misses):
            label = named.get(miss.truth, miss.truth)
            found.append(Labelled(miss.log, label, f"{rule.id} near {n}", rule.id))
    return [*found, *_cases(corpora)]


def _cases(corpora: Iterable[Path]) -> Iterator[Labelled]:
    for corpus in corpora:
        for file in sorted(corpus.rglob("case.yaml")):
            logs = sorted(p for p in file.parent.rglob("*") if p.suffix in LOG_NAMES)
            text = "".join(p.read_text("utf-8", "replace") for p in logs)[:LARGEST_LOG]
            yield Labelled(text, _label(file), f"case {file.parent.name}", file.parent.name)


def _label(file: Path) -> str:
    import yaml

    try:
        case = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError("a case could not be read", str(file), str(error)) from None
    if not isinstance(case, Mapping) or not isinstance(case.get("label"), str):
        raise InputError("a case has no label", str(file), "", "add 'label: SIGNATURE'")
    return str(case["label"])


def samples(
    logs: Sequence[Labelled], known: Knowledge, told: Callable[[str, int, int], None] = lambda *_: None
) -> Iterator[Sample]:
    """The features of every log and of its variants; ``told`` hears which log, how many of how many."""
    for n, one in enumerate(logs):
        told(one.example, n, len(logs))
        seen = [_features(variant, known) for variant in _variants(one.log)]
        seen += [_thinned(seen[0], part) for part in (0, 1)]
        different = [f for i, f in enumerate(seen) if f and f not in seen[:i]]
        yield from (Sample(f, one.label, one.example, one.rule, whole=f is seen[0]) for f in different)
        rest = "" if one.label in NAMELESS else _without_proof(one.log, known)
        if rest and (learnt := _features(rest, known)):
            label = one.label if _diagnosed(rest, known) else UNKNOWN  # what is left names nothing: nor shall we
            yield Sample(learnt, label, one.example, one.rule, whole=False)


def _variants(log: str) -> Iterator[str]:
    """As it is, under other names, cut at either end, wrapped, and told by two ranks at once."""
    lines = log.splitlines()
    yield log
    yield OWN_NAME.sub(lambda name: "main." if name[0].endswith(".") else "someone", log)
    if len(lines) > 3:  # of fewer lines a cut leaves nothing
        yield "\n".join(lines[: -(len(lines) // 3)])
        yield "\n".join(lines[len(lines) // 3 :])
    yield "\n".join(f"2031-04-05 06:07:08,901 {line}" for line in lines)
    yield "\n".join(f"[rank{rank}]: {line}" for line in lines for rank in (3, 5))


def _without_proof(log: str, known: Knowledge) -> str:
    """The log without the lines that prove what it is; nothing where nothing proves it."""
    proof = {e.line.number for c in _diagnosed(log, known) for e in c.evidence}
    return "\n".join(line for n, line in enumerate(log.splitlines(), 1) if n not in proof) if proof else ""


def _diagnosed(log: str, known: Knowledge) -> tuple[Cause, ...]:
    found = diagnose(_opened(log), name="example", knowledge=known).causes
    return tuple(c for c in found if c.rule)  # not what the last model guessed


def _features(log: str, known: Knowledge) -> dict[int, float]:
    return features(events(_opened(log), knowledge=known))


def _opened(log: str) -> io.BytesIO:
    return io.BytesIO(log.encode())


def _thinned(whole: Mapping[int, float], part: int) -> dict[int, float]:
    """One half of the features: the same failure said in other words."""
    return {b: v for b, v in whole.items() if zlib.crc32(str(b).encode()) % 2 == part}

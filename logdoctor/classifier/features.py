"""Events as numbers: kinds, dialects, levels and masked words, hashed into a fixed number of buckets.

What is only true of one job (numbers, addresses, paths, names with digits) is masked, so that the model cannot learn
it; the small numbers that mean something (signals, exit codes, completion states, Xids) are kept with their word.
"""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from logdoctor.classifier.counting import VOICES_KEPT, FeatureCounter, Told
from logdoctor.model import Event

BUCKETS = 8192
WORDS_OF_AN_EVENT = 60
TELLING_NUMBER = re.compile(r"\b(signal|exit ?code|status|errno|error|xid|retcode|res)\W{1,4}(-?\d{1,3})\b")
ONE_JOBS_OWN = re.compile(
    r"(?:/[\w.+~-]+){2,}/?"  # paths
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"  # addresses
    r"|\b\w*\d\w*\b"  # numbers, hexadecimals, hosts, devices: whatever holds a digit
)
WORD = re.compile(r"[a-z][a-z_]+")


def features(events: Iterable[Event]) -> dict[int, float]:
    """The features of a whole job: bucket -> value > 0, of length 1 as a vector; empty where nothing counts."""
    counter = FeatureCounter()
    for event in events:
        counter.observe(event)
    return features_of(counter)


def features_of(job: FeatureCounter) -> dict[int, float]:
    """The same from what a `FeatureCounter` kept."""
    names = itertools.chain(_sequence(job.failures), _failures(job), _around(job))
    counts = Counter(zlib.crc32(n.encode("utf-8", "replace")) % BUCKETS for n in names)
    damped = {bucket: 1 + math.log(count) for bucket, count in counts.items()}
    length = math.sqrt(math.fsum(v * v for v in damped.values())) or 1.0
    return {bucket: round(damped[bucket] / length, 6) for bucket in sorted(damped)}


def _sequence(failures: Sequence[Told]) -> Iterator[str]:
    """What came first, what came last, and what followed what."""
    fatal = [kind for _, kind, level, _ in failures if level == "fatal"]
    for what, kinds in (("", [kind for _, kind, _, _ in failures]), ("fatal ", fatal)):
        if kinds:
            yield f"first {what}{kinds[0]}"
            yield f"last {what}{kinds[-1]}"
    if failures:  # what is said first says most
        yield from (f"first {word}" for word in words(failures[0][3]))
    changes = (kind for kind, _ in itertools.groupby(kind for _, kind, _, _ in failures))
    yield from (f"{a} > {b}" for a, b in itertools.pairwise(changes))


def _failures(job: FeatureCounter) -> Iterator[str]:
    for dialect, kind, level, text in job.failures:
        yield f"dialect {dialect}"
        yield f"kind {kind}"
        yield f"level {level}"
        yield from _words_and_pairs(text)


def _around(job: FeatureCounter) -> Iterator[str]:
    """What healthy jobs print too: kinds, warnings, plain lines; and who told of trouble, and when it began."""
    yield from (f"seen {kind}" for kind in job.kinds)
    for _, kind, _, text in job.warnings:
        yield f"warned {kind}"
        yield from (f"warned {word}" for word in words(text))
    for *_, text in job.plain:
        yield from (f"line {word}" for word in words(text))
    if job.failures:
        yield f"phase {job.phase}"
        yield f"voices {min(len(job.voices), VOICES_KEPT)}"
    elif job.kinds or job.warnings or job.plain:
        yield "no failure"


def _words_and_pairs(text: str) -> Iterator[str]:
    found = words(text)
    yield from found
    yield from (f"{a} {b}" for a, b in itertools.pairwise(found))


def words(text: str) -> list[str]:
    """The words of a message, in lower case, without what only this job has; telling numbers with their word."""
    text = text.lower()
    numbers = [f"{name}={value}" for name, value in TELLING_NUMBER.findall(text)]
    return WORD.findall(ONE_JOBS_OWN.sub(" ", text))[:WORDS_OF_AN_EVENT] + numbers

"""Features of a job, hashed into buckets.

The features are kinds, formats, levels and words of its records.  Numbers, addresses, paths and names with digits are
masked, because they are true of one job only.  Small numbers with a meaning (signals, exit codes, completion states,
Xids) are kept together with their word.
"""

from __future__ import annotations

import itertools
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from logdoctor.classifier.counting import MAX_RANKS, FeatureCounter, RecordHead
from logdoctor.model import Record

BUCKETS = 8192
MAX_WORDS = 60
NUMBER_WITH_MEANING = re.compile(r"\b(signal|exit ?code|status|errno|error|xid|retcode|res)\W{1,4}(-?\d{1,3})\b")
JOB_SPECIFIC = re.compile(
    r"(?:/[\w.+~-]+){2,}/?"  # paths
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"  # addresses
    r"|\b\w*\d\w*\b"  # numbers, hexadecimals, hosts, devices: every word with a digit
)
WORD = re.compile(r"[a-z][a-z_]+")


def extract_features(records: Iterable[Record]) -> dict[int, float]:
    """Return the features of a job as ``{bucket: value}``.

    All values are above 0, and the vector has the length 1.  A job without records has no features.
    """
    counter = FeatureCounter()
    for record in records:
        counter.observe(record)
    return counter_features(counter)


def counter_features(job: FeatureCounter) -> dict[int, float]:
    """Return the features of a job, like `extract_features`."""
    names = itertools.chain(_order_features(job.failures), _failure_features(job), _context_features(job))
    counts = Counter(zlib.crc32(n.encode("utf-8", "replace")) % BUCKETS for n in names)
    damped = {bucket: 1 + math.log(count) for bucket, count in counts.items()}
    length = math.sqrt(math.fsum(v * v for v in damped.values())) or 1.0
    return {bucket: round(damped[bucket] / length, 6) for bucket in sorted(damped)}


def _order_features(failures: Sequence[RecordHead]) -> Iterator[str]:
    """Yield features of the order of failures.

    These are the first and last kind, the words of the first failure, and each change such as ``a.error > b.error``.
    """
    fatal = [kind for _, kind, level, _ in failures if level == "fatal"]
    for level, kinds in (("", [kind for _, kind, _, _ in failures]), ("fatal ", fatal)):
        if kinds:
            yield f"first {level}{kinds[0]}"
            yield f"last {level}{kinds[-1]}"
    if failures:  # the first message says most about the cause
        yield from (f"first {word}" for word in extract_words(failures[0][3]))
    changes = (kind for kind, _ in itertools.groupby(kind for _, kind, _, _ in failures))
    yield from (f"{a} > {b}" for a, b in itertools.pairwise(changes))


def _failure_features(job: FeatureCounter) -> Iterator[str]:
    for log_format, kind, level, text in job.failures:
        yield f"dialect {log_format}"
        yield f"kind {kind}"
        yield f"level {level}"
        yield from _words_and_pairs(text)


def _context_features(job: FeatureCounter) -> Iterator[str]:
    """Yield features of the records around the failures."""
    yield from (f"seen {kind}" for kind in job.kinds)
    for _, kind, _, text in job.warnings:
        yield f"warned {kind}"
        yield from (f"warned {word}" for word in extract_words(text))
    for *_, text in job.plain:
        yield from (f"line {word}" for word in extract_words(text))
    if job.failures:
        yield f"phase {job.phase}"
        yield f"voices {min(len(job.failing_ranks), MAX_RANKS)}"
    elif job.kinds or job.warnings or job.plain:
        yield "no failure"


def _words_and_pairs(text: str) -> Iterator[str]:
    words = extract_words(text)
    yield from words
    yield from (f"{a} {b}" for a, b in itertools.pairwise(words))


def extract_words(text: str) -> list[str]:
    """Return the words of a message, in lower case.

    ``Rank 3 on node7 got signal 9`` gives ``rank``, ``on``, ``got``, ``signal`` and ``signal=9``.
    """
    text = text.lower()
    numbers = [f"{name}={value}" for name, value in NUMBER_WITH_MEANING.findall(text)]
    return WORD.findall(JOB_SPECIFIC.sub(" ", text))[:MAX_WORDS] + numbers

"""Random inputs: each gives a valid diagnosis or an `InputError`.

A test run takes a few of each. LOGDOCTOR_FUZZ=nightly (`make fuzz`) takes a hundred thousand in all.
"""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstd_library
from effort import inputs
from failing_job import LINES, LOG, OOM, VALIDATOR
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import BOOK

import logdoctor
from logdoctor.classifier.linear_model import load_model
from logdoctor.cli.settings import settings
from logdoctor.inputs import Bounds
from logdoctor.model import Diagnosis, InputError
from logdoctor.render import FORMATS, render
from logdoctor.ruleset.loading import read
from logdoctor.ruleset.tables import read_signatures

SMALL = Bounds(inflated_bytes=4 << 20, ratio_after=1 << 20, entries=50)


def diagnose_any(data: bytes, knowledge, **options) -> Diagnosis | None:
    """Return the diagnosis, or None for a refused input.

    The diagnosis must be valid by the schema.
    """
    try:
        diagnosis = logdoctor.diagnose(io.BytesIO(data), knowledge=knowledge, bounds=SMALL, **options)
    except InputError:
        return None
    VALIDATOR.validate(diagnosis.to_dict())
    return diagnosis


@functools.cache
def example_logs() -> tuple[bytes, ...]:
    """Return the examples and near-misses of all rules, and one whole job."""
    logs = {e.log.encode() for rule in BOOK.rules for e in (*rule.examples, *rule.near_misses)}
    return (LOG.encode(), *sorted(logs))


@pytest.fixture(scope="module", autouse=True)
def load_examples():
    """Load the rules before the first input is drawn."""
    example_logs()


# ── (a) any bytes ──

HINTS = [
    b"\r",
    b"\n",
    b"\x1b[",
    b"\xff\xfe",
    b"\x1f\x8b\x08",
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
    b'{"log":"',
    b"[rank",
]
HINTS += [b"Traceback (most recent call last):\n", b"NCCL WARN ", b"-" * 74 + b"\n", b"[1,0]<stderr>:", b"\0" * 512]


@inputs(150, 40_000)
@given(data=st.lists(st.binary(max_size=200) | st.sampled_from(HINTS), max_size=12).map(b"".join))
def test_any_bytes_give_a_diagnosis_or_an_input_error(data, knowledge):
    diagnose_any(data, knowledge)


# ── (b) logs of real failures, mutilated ──


def cut(draw: Callable, log: bytes) -> bytes:
    start, end = sorted((draw(st.integers(0, len(log))), draw(st.integers(0, len(log)))))
    return log[start:end]


def double(draw: Callable, log: bytes) -> bytes:
    return log * draw(st.integers(2, 40))


def interleave(draw: Callable, log: bytes) -> bytes:
    lines, others = log.splitlines(keepends=True), draw(st.sampled_from(example_logs())).splitlines(keepends=True)
    order = draw(st.lists(st.booleans(), max_size=40))
    mixed = [(lines if first else others).pop(0) for first in order if (lines if first else others)]
    return b"".join([*mixed, *lines, *others])


def splice(draw: Callable, log: bytes) -> bytes:
    at, other = draw(st.integers(0, len(log))), draw(st.sampled_from(example_logs()))
    return log[:at] + cut(draw, other) + log[at:]


def flip(draw: Callable, log: bytes) -> bytes:
    changed = bytearray(log or b" ")
    for _ in range(draw(st.integers(1, 8))):
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.integers(0, 255))
    return bytes(changed)


def shuffle(draw: Callable, log: bytes) -> bytes:
    return b"".join(draw(st.permutations(log.splitlines(keepends=True)[:30])))


def drop(draw: Callable, log: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    return b"".join(line for line in lines if draw(st.integers(0, 3)))


def grow(draw: Callable, log: bytes) -> bytes:
    at, piece = draw(st.integers(0, len(log))), cut(draw, log)
    return log[:at] + piece[:40] * draw(st.integers(2, 200)) + log[at:]


MUTATIONS = [cut, double, interleave, splice, flip, shuffle, drop, grow]


@st.composite
def mutated(draw) -> bytes:
    log = draw(st.sampled_from(example_logs()))
    for change in draw(st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=4)):
        log = change(draw, log)[: 1 << 16]
    return log


@inputs(150, 40_000)
@given(log=mutated(), hung=st.booleans(), lang=st.sampled_from(["en", "zh"]))
def test_mutilated_log_gives_a_diagnosis_and_every_report(log, hung, lang, knowledge):
    diagnosis = diagnose_any(log, knowledge, hung=hung, lang=lang)
    for name in FORMATS if diagnosis else ():
        text = render(diagnosis, name, lang=lang)
        assert not any(ord(c) < 32 and c != "\n" for c in text)


# ── (c) lines with prefixes inside prefixes ──


def prefix(text: str) -> Callable[[str], str]:
    return lambda line: text + line


def as_json(key: str) -> Callable[[str], str]:
    return lambda line: json.dumps({key: line, "stream": "stderr", "time": "2025-06-04T10:22:31.402Z"})


PREFIXES = [
    "[rank3]: ",
    "[default3]:",
    "3: ",
    "[1,3]<stderr>:",
    "(TrainWorker pid=4411, ip=10.3.0.7) ",
    "gpu-04: ",
    "[pod/train-worker-0/pytorch] ",
    "2025-06-04T10:22:31.402117311Z stderr F ",
    "2025-06-04T10:22:31.402117311Z ",
    "Jun  4 10:22:31 gpu-04 train[5120]: ",
    "<11>1 2025-06-04T10:22:31Z gpu-04 train 5120 - - ",
    "trainer-1  | ",
    "2025-06-04 10:22:31,402 - trainer - ERROR - ",
    "[2025-06-04 10:22:31.402] ",
    "ERROR:root:",
    "E0604 10:22:31.402 4411 loop.py:8] ",
    "logs/rank_5.log:12:",
    "\x1b[31m",
    "\ufeff",
    "\r",
    "  ",
    'time="2025-06-04T10:22:31Z" level=error msg=',
    "[9999999999999999999] ",
    "9999-99-99 99:99:99 ",
    "0000-00-00T00:00:00Z ",
]
PREFIX_FUNCTIONS = [
    *map(prefix, PREFIXES),
    as_json("log"),
    as_json("message"),
    as_json("MESSAGE"),
    lambda line: line * 2,
]
MESSAGES = st.sampled_from([*LINES, OOM]) | st.text(max_size=60)


@inputs(150, 16_000)
@given(
    parts=st.lists(st.tuples(st.lists(st.sampled_from(PREFIX_FUNCTIONS), max_size=8), MESSAGES), min_size=1, max_size=6)
)
def test_lines_with_any_nesting_of_prefixes_are_diagnosed(parts, knowledge):
    lines = []
    for prefixes, line in parts:
        for wrap in prefixes:
            line = wrap(line)[: 1 << 14]
        lines.append(line)
    diagnose_any("\n".join(lines).encode("utf-8", "surrogatepass"), knowledge)


# ── (d) archives of archives, whole and damaged ──

NAMES = st.sampled_from(
    ["a.log", "rank_3.log", "../up.log", "/root.log", "d/e/f.txt", "a.log.gz", "in.zip", "x" * 300, "é\n.log"]
)


def make_tar(members: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def make_zip(members: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {f"{number}{name}": data for number, (name, data) in enumerate(members)}.items():
            archive.writestr(name, data)
    return out.getvalue()


PACKERS = [gzip.compress, bz2.compress, lzma.compress, zstd_library.compress]
CONTENT = st.binary(max_size=300) | st.deferred(lambda: st.sampled_from(example_logs()))
ARCHIVES = st.recursive(
    CONTENT,
    lambda inner: (
        st.tuples(st.sampled_from(PACKERS), inner).map(lambda pair: pair[0](pair[1]))
        | st.tuples(st.sampled_from([make_tar, make_zip]), st.lists(st.tuples(NAMES, inner), max_size=4)).map(
            lambda pair: pair[0](pair[1])
        )
    ),
    max_leaves=6,
)


@st.composite
def damaged(draw) -> bytes:
    data = draw(ARCHIVES)
    return draw(st.sampled_from([lambda _, d: d, lambda _, d: d, cut, flip]))(draw, data)


@inputs(80, 8_000)
@given(data=damaged())
def test_any_archive_gives_a_diagnosis_or_an_input_error(data, knowledge):
    diagnose_any(data, knowledge)


# ── (e) numbers that no program prints ──

MESSAGE_FILES = sorted((Path(__file__).parent / "messages").glob("*.tsv"))
NUMBER = re.compile(r"[0-9]+")
ODD_NUMBERS = [
    "7" * 10_000,
    "0" * 10_000,
    "-1",
    "-" + "9" * 5000,
    "NaN",
    "inf",
    "1e999",
    "٣٤",
    "²",
    "४२",
    "0x" + "f" * 40,
]
ODD_NUMBERS += ["", "9" * 18, "9" * 19, "18446744073709551615", "4294967295", "1_000", "0007", "1.5"]


@functools.cache
def example_texts() -> tuple[str, ...]:
    """Return the examples of all rules, and each line of the messages of all dialects, if they hold a number."""
    lines = (line.partition("\t")[2] for file in MESSAGE_FILES for line in file.read_text("utf-8").splitlines())
    return tuple(t for t in (*(log.decode() for log in example_logs()), *lines) if NUMBER.search(t))


@st.composite
def odd_numbers(draw) -> bytes:
    """Return a log in which one number, or each, is odd."""
    text, odd = draw(st.sampled_from(example_texts())), draw(st.sampled_from(ODD_NUMBERS))
    matches = [m.span() for m in NUMBER.finditer(text)]
    chosen = matches[-40:] if draw(st.booleans()) else [draw(st.sampled_from(matches))]
    for start, end in reversed(chosen):
        text = text[:start] + odd + text[end:]
    return text.encode()


@inputs(300, 10_000)
@given(log=odd_numbers(), hung=st.booleans())
def test_log_with_odd_numbers_gives_a_diagnosis_and_a_report(log, hung, knowledge):
    diagnosis = diagnose_any(log, knowledge, hung=hung)
    assert diagnosis is not None
    for name in FORMATS:
        render(diagnosis, name)


# ── (f) rules, settings and models of other people ──

PIECES = [
    "[",
    "]",
    "{",
    "}",
    "a: ",
    "- ",
    "? ",
    ": ",
    "\n",
    "  ",
    "&a ",
    "*a",
    "!!set ",
    "!!python/name:os.system ",
    "'",
    '"',
    "---\n",
]
PIECES += [
    "title: x\n",
    "symptoms:\n",
    "  gone: {text: 'no (?P<server>[a-z]+)'}\n",
    "|\n",
    "<<: ",
    "7" * 5000,
    "0x" + "f" * 5000,
    "\t",
    "é",
    "\x01",
]
PACK_TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=60).map("".join)
REPEATED_TEXTS = st.tuples(st.sampled_from(PIECES), st.integers(0, 3000)).map(lambda pair: pair[0] * pair[1])


@functools.cache
def rule_files_of_ours() -> tuple[bytes, ...]:
    return tuple(Path(rule.path).read_bytes() for rule in BOOK.rules)


@st.composite
def mutilated_rule(draw) -> bytes:
    data = draw(st.sampled_from(rule_files_of_ours()))
    for change in draw(st.lists(st.sampled_from([cut, splice, flip, drop, grow]), min_size=1, max_size=3)):
        data = change(draw, data)[: 1 << 16]
    return data


PACK_FILES = mutilated_rule() | (PACK_TEXTS | REPEATED_TEXTS).map(lambda text: text.encode("utf-8", "surrogatepass"))


@inputs(200, 10_000)
@given(data=PACK_FILES)
def test_any_rule_file_is_a_rule_or_faults_with_their_place(data, tmp_path):
    (tmp_path / "net").mkdir(exist_ok=True)
    file = tmp_path / "net" / "any.yaml"
    file.write_bytes(data)
    book = read([tmp_path])
    assert [rule.id for rule in book.rules] == ([] if book.faults and not book.rules else ["net.any"])
    assert all(fault.where.startswith(str(file)) and len(str(fault)) < 20_000 for fault in book.faults)


@inputs(100, 5_000)
@given(data=PACK_FILES)
def test_any_settings_models_and_signatures_are_read_or_refused(data, tmp_path):
    file = tmp_path / "any"
    file.write_bytes(data)
    read_signatures(file, [])
    for load in (lambda: settings({"LOGDOCTOR_CONFIG": str(file)}), lambda: load_model(file)):
        with contextlib.suppress(InputError):
            load()

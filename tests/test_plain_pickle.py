"""Pickles of plain data, read without running anything."""

from __future__ import annotations

import io
import pickle
import random
import subprocess
import sys

import pytest

from logdoctor.artefacts import Damaged, Document
from logdoctor.artefacts.plain_pickle import load

MUTANTS = 10_000
ENTRY = {"pg_id": 0, "process_group": ("0", "default_pg"), "sizes": [[8, 16]], "at": None, "ns": 1 << 60, "ok": True}
DUMP = {"version": "2.10", "pg_status": {"0": {"last": -1}}, "entries": [ENTRY, {**ENTRY, "share": 0.5, "ok": False}]}
VALUES = [DUMP, [], {}, (), "é\n", "x" * 300, 0, 255, 65535, -5, 10**18, 1.5, [1, (2, [3])], {1: "a", "b": None}]


def unpickled(data: bytes) -> object:
    return load(Document("dump", "flight-recorder", io.BytesIO(data).read))


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_plain_data_are_read_as_python_reads_them(value, protocol):
    assert unpickled(pickle.dumps(value, protocol=protocol)) == value


class Hostile:
    def __reduce__(self):
        return print, ("owned",)


LOOP: list[object] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (pickle.dumps(Hostile(), protocol=2), "GLOBAL"),
        (pickle.dumps(Hostile(), protocol=4), "STACK_GLOBAL"),
        (pickle.dumps(b"bytes", protocol=4), "SHORT_BINBYTES"),
        (pickle.dumps({1, 2}, protocol=4), "EMPTY_SET"),
        (b"\x80\x02cos\nsystem\n.", "byte 2 holds the opcode GLOBAL"),
        (pickle.dumps(LOOP, protocol=2), "does not fit"),
        (b"\x80\x02}(K\x01K\x02K\x03u.", "does not fit"),
        (b"\x80\x02}(]K\x02u.", "does not fit"),
        (b"\x80\x02h\x07.", "does not fit"),
        (b"\x80\x09N.", "does not fit"),
        (b"\x80\x02N.N.", "more follows"),
        (b"\x80\x02NN.", "does not fit"),
        (b"\x80\x02.", "does not fit"),
        (b"\x80\x02(N.", "does not fit"),
        (b"\x80\x02X\xff\xff\xff\x7fab.", "ends within"),
        (b"\x80\x02\x8a\xff" + bytes(255) + b".", "does not fit"),
        (b"\x80\x02" + b"](" * 99, "nested deeper"),
        (b"\x80", "ends within"),
    ],
)
def test_anything_else_is_refused_with_its_place(data, why):
    with pytest.raises(Damaged, match=why):
        unpickled(data)


def test_every_cut_is_told():
    data = pickle.dumps(DUMP, protocol=2)
    for end in range(len(data)):
        with pytest.raises(Damaged):
            unpickled(data[:end])


def test_no_mutant_breaks_the_reader():
    chance, whole = random.Random(3), 0
    seeds = [pickle.dumps(DUMP, protocol=protocol) for protocol in range(2, 6)]
    for _ in range(MUTANTS):
        mutant = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 2, 8))):
            at = chance.randrange(len(mutant))
            mutant[at : at + chance.choice((0, 1, 1, 4))] = chance.randbytes(chance.choice((0, 1, 1, 4)))
        try:
            unpickled(bytes(mutant))
            whole += 1
        except Damaged:
            continue
    assert 0 < whole < MUTANTS


def test_the_package_never_imports_pickle():
    code = "import sys, logdoctor.api, logdoctor.artefacts as a; a.all_readers(); print(sys.modules.get('pickle'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"

"""What all dialects know is read as data; their code is imported when a line needs it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from logdoctor.parsers import grammar as grammars
from logdoctor.parsers import records
from logdoctor.parsers.peeling import wrappers

LOADED = "[m.rpartition('.')[2] for m in sys.modules if m.startswith('logdoctor.parsers.dialects.')]"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The grammar as a second process reads it."""
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path))
    monkeypatch.setattr(grammars.Stamp, "settled", True)
    whole = grammars.read_grammar.__wrapped__()
    (file,) = tmp_path.glob("grammar-*")
    return whole, grammars._read_cache(file)


def test_what_was_kept_is_what_the_dialects_say(kept):
    whole, again = kept
    assert again.meanings == whole.meanings
    assert [(r.kind, r.pattern, r.level, r.note, r.priority, r.often, r.scan, r.patience) for r in again.records] == [
        (r.kind, r.pattern, r.level, r.note, r.priority, r.often, r.scan, r.patience) for r in whole.records
    ]


def test_a_kept_record_reads_blocks_with_its_own_reader(kept):
    whole, again = kept
    for record, same in zip(whole.records, again.records, strict=True):
        assert (record.block is None) == (same.block is None)
        if isinstance(same.block, grammars._Reader):
            module = sys.modules[same.block.module]
            assert module.RECORDS[same.block.index] is record


@pytest.mark.parametrize("damaged", [b"", b"\xff", b"\x83"])
def test_what_is_damaged_is_read_anew(tmp_path, damaged):
    (tmp_path / "kept").write_bytes(damaged)
    assert grammars._read_cache(tmp_path / "kept") is None


def test_a_log_that_speaks_one_dialect_imports_few():
    records()
    program = (
        "import sys, io, logdoctor\n"
        "found = logdoctor.diagnose(io.BytesIO(b'h1:7:7 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\\n'))\n"
        f"print(len({LOADED}))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(2)
    ]
    assert int(runs[-1].stdout) < 10


def test_no_pattern_counts_with_a_blank():
    """``{1, 60}`` is plain text to a regular expression, and what a formatter makes of ``{1,60}`` in an f-string."""
    torn = re.compile(r"\{\d+, \d*\}")
    assert not [p for p in (*(r.pattern for r in records()), *(w.pattern for w in wrappers())) if torn.search(p)]

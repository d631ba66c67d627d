"""The table of record patterns is cached; a format is imported when a line needs it."""

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
def cached(tmp_path, monkeypatch):
    """Return the table, and the table as a second process reads it from the cache."""
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path))
    monkeypatch.setattr(grammars.Stamp, "settled", True)
    table = grammars.read_grammar.__wrapped__()
    (file,) = tmp_path.glob("grammar-*")
    return table, grammars._read_cache(file)


def test_cached_table_equals_the_formats(cached):
    table, copy = cached
    assert copy.meanings == table.meanings
    assert [(r.kind, r.pattern, r.level, r.note, r.priority, r.often, r.scan, r.patience) for r in copy.records] == [
        (r.kind, r.pattern, r.level, r.note, r.priority, r.often, r.scan, r.patience) for r in table.records
    ]


def test_cached_record_pattern_has_its_own_reader(cached):
    table, copy = cached
    for record, same in zip(table.records, copy.records, strict=True):
        assert (record.block is None) == (same.block is None)
        if isinstance(same.block, grammars._Reader):
            module = sys.modules[same.block.module]
            assert module.RECORDS[same.block.index] is record


@pytest.mark.parametrize("damaged", [b"", b"\xff", b"\x83"])
def test_damaged_cache_is_ignored(tmp_path, damaged):
    (tmp_path / "cached").write_bytes(damaged)
    assert grammars._read_cache(tmp_path / "cached") is None


def test_log_of_one_format_imports_few_formats():
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


def test_no_pattern_has_a_blank_in_a_repeat_count():
    """``{1, 60}`` is plain text to a regular expression, and what a formatter makes of ``{1,60}`` in an f-string."""
    torn = re.compile(r"\{\d+, \d*\}")
    assert not [p for p in (*(r.pattern for r in records()), *(w.pattern for w in wrappers())) if torn.search(p)]

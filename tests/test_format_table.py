"""The table of record patterns is cached; a format is imported when a line needs it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from logdoctor.logs import format_table as grammars
from logdoctor.logs import record_patterns
from logdoctor.logs.prefix_stripping import load_prefixes

LOADED = "[m.rpartition('.')[2] for m in sys.modules if m.startswith('logdoctor.logs.formats.')]"


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Return the table, and the table as a second process reads it from the cache."""
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path))
    monkeypatch.setattr(grammars.Stamp, "settled", True)
    table = grammars.read_format_table.__wrapped__()
    (file,) = tmp_path.glob("grammar-*")
    return table, grammars._read_cache(file)


def test_cached_table_equals_the_formats(cached):
    table, copy = cached
    assert copy.lifecycle_signs == table.lifecycle_signs
    assert [
        (r.kind, r.pattern, r.level, r.note, r.priority, r.often, r.scan, r.patience) for r in copy.record_patterns
    ] == [(r.kind, r.pattern, r.level, r.note, r.priority, r.often, r.scan, r.patience) for r in table.record_patterns]


def test_cached_record_pattern_has_its_own_reader(cached):
    table, copy = cached
    for pattern, same in zip(table.record_patterns, copy.record_patterns, strict=True):
        assert (pattern.read_lines is None) == (same.read_lines is None)
        if isinstance(same.read_lines, grammars._Reader):
            module = sys.modules[same.read_lines.module]
            assert module.RECORDS[same.read_lines.index] is pattern


@pytest.mark.parametrize("damaged", [b"", b"\xff", b"\x83"])
def test_damaged_cache_is_ignored(tmp_path, damaged):
    (tmp_path / "cached").write_bytes(damaged)
    assert grammars._read_cache(tmp_path / "cached") is None


def test_log_of_one_format_imports_few_formats():
    record_patterns()
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
    assert not [
        p for p in (*(r.pattern for r in record_patterns()), *(w.pattern for w in load_prefixes())) if torn.search(p)
    ]

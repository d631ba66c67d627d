"""The table of all formats is cached; code of a format is imported when a line needs it."""

from __future__ import annotations

import re
import subprocess
import sys

from logdoctor.logs import format_table, prefixes, record_patterns

LOADED = "[m for m in sys.modules if m == 'yaml' or m.startswith('logdoctor.logs.multiline.')]"


def test_cached_table_equals_the_formats(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path))
    monkeypatch.setattr(format_table.Stamp, "settled", True)
    table = format_table.read_format_table.__wrapped__()
    (file,) = tmp_path.glob("formats-*")
    assert format_table._decode(file.read_bytes()) == table


def test_log_of_one_format_imports_few_readers_and_no_yaml():
    program = (
        "import sys, io, logdoctor\n"
        "logdoctor.diagnose(io.BytesIO(b'h1:7:7 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\\n'))\n"
        f"print({LOADED})"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(2)
    ]
    loaded = runs[-1].stdout
    assert "yaml" not in loaded
    assert loaded.count("multiline") < 10


def test_no_pattern_has_a_blank_in_a_repeat_count():
    """``{1, 60}`` is plain text to a regular expression."""
    torn = re.compile(r"\{\d+, \d*\}")
    assert not [
        p for p in (*(r.pattern for r in record_patterns()), *(w.pattern for w in prefixes())) if torn.search(p)
    ]

"""The cache of compiled databases may be lost, cut, damaged or unwritable."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from logdoctor.matcher import Matcher, Pattern, hyperscan_engine, make_plan
from logdoctor.matcher.scan_pattern import make_pattern
from logdoctor.pack import cached_files

PATTERNS = [Pattern.of_form("error: [a-z]"), make_pattern("peer [0-9]+ lost")]
"""One is found by an expression, one by a plain text."""


def build(folder: Path, patterns: list[Pattern] | None = None) -> Matcher:
    matcher = Matcher.load(make_plan(patterns or PATTERNS), folder, "hyperscan")
    assert [c.number for c in matcher.scan(io.BytesIO(b"x\nerror: y\n").readinto)] == [2]
    return matcher


@pytest.fixture
def compile_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count compilations. A matcher has two databases, for plain texts and for expressions."""
    times: list[int] = []
    real = hyperscan_engine.HyperscanEngine._compile
    monkeypatch.setattr(hyperscan_engine.HyperscanEngine, "_compile", lambda *a, **k: times.append(1) or real(*a, **k))
    return times


def test_the_second_build_compiles_nothing(tmp_path: Path, compile_calls: list[int]) -> None:
    build(tmp_path / "new" / "folder")
    build(tmp_path / "new" / "folder")
    assert len(compile_calls) == 2


def test_other_patterns_are_other_files(tmp_path: Path, compile_calls: list[int]) -> None:
    build(tmp_path)
    build(tmp_path, [Pattern.of_form("error: [a-z]"), make_pattern("peer [0-9]+ found")])
    assert len(compile_calls) == 4
    assert len(list(tmp_path.iterdir())) == 4


def test_only_the_owner_may_read_the_cache(tmp_path: Path) -> None:
    build(tmp_path / "cache")
    for file in (tmp_path / "cache").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flip(data: bytes) -> bytes:
    return data[:300] + bytes((data[300] ^ 4,)) + data[301:]


@pytest.mark.parametrize(
    "damage", [_cut, _flip, lambda _: b"", lambda _: b"not a database" * 99, lambda data: data[:40]]
)
def test_a_damaged_file_is_compiled_and_written_again(tmp_path: Path, compile_calls: list[int], damage) -> None:
    build(tmp_path)
    whole = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for file, data in whole.items():
        file.write_bytes(damage(data))
    build(tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == whole
    build(tmp_path)
    assert len(compile_calls) == 4


def test_file_that_others_may_write_is_not_read(tmp_path: Path, compile_calls: list[int]) -> None:
    build(tmp_path)
    for file in tmp_path.iterdir():
        file.chmod(0o666)
    build(tmp_path)
    assert len(compile_calls) == 4


def test_unwritable_cache_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    build(tmp_path / "file")
    build(Path("/proc/no/such/place"))


def test_folder_in_place_of_the_file_is_ignored(tmp_path: Path) -> None:
    build(tmp_path)
    names = sorted(p.name for p in tmp_path.iterdir())
    for name in names:
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
    build(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_oldest_databases_are_deleted(tmp_path: Path) -> None:
    for n in range(16):
        cached_files.write(tmp_path / f"{n:02}.hsdb", b"x")
        os.utime(tmp_path / f"{n:02}.hsdb", (n, n))
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{n:02}.hsdb" for n in range(4, 16)]


def test_used_file_stays_and_longest_unused_file_is_deleted(tmp_path: Path) -> None:
    used, unused = tmp_path / "used.db", tmp_path / "unused.db"
    for age, path in enumerate((used, unused)):
        cached_files.write(path, b"")
        os.utime(path, (age, age))
    cached_files.read(used)
    for n in range(cached_files.MAX_FILES - 1):
        cached_files.write(tmp_path / f"{n}.db", b"")
    assert used.exists()
    assert not unused.exists()


def test_of_several_processes_one_compiles_and_the_others_wait(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from logdoctor.pack import cached_files\n"
        "import time; path = Path(sys.argv[1]) / 'made'\n"
        "def make():\n    time.sleep(0.5); print('made'); return b'x', b'x'\n"
        "cached_files.keep(path, bytes, make)"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert "".join(run.communicate()[0] for run in runs) == "made\n"


def test_value_is_made_without_a_place_to_keep_it() -> None:
    assert cached_files.keep(None, bytes, lambda: (b"made", b"")) == b"made"
    assert cached_files.keep(Path("/proc/no/such/place"), bytes, lambda: (b"made", b"")) == b"made"


def test_value_that_needs_another_value_does_not_wait_for_itself(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(cached_files.time, "sleep", lambda _: pytest.fail("it waits"))

    def make() -> tuple[bytes, bytes]:
        inner = cached_files.keep(tmp_path / "inner", bytes, lambda: (b"inner", b"inner"))
        return inner + b" outer", inner + b" outer"

    assert cached_files.keep(tmp_path / "outer", bytes, make) == b"inner outer"

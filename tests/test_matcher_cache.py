"""The cache of compiled databases may be lost, cut, damaged or unwritable."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path

import pytest

from logdoctor.matcher import Matcher, Pattern, hyperscan_engine, kept_patterns, make_pattern, make_plan
from logdoctor.matcher.kept_patterns import PatternCache
from logdoctor.pack import cached_files

PATTERNS = [Pattern.of_form("error: [a-z]"), Pattern.of_form("peer [0-9]+ lost")]


def build(folder: Path, patterns: list[Pattern] | None = None) -> Matcher:
    matcher = Matcher.load(make_plan(patterns or PATTERNS), folder, "hyperscan")
    assert [c.number for c in matcher.scan(io.BytesIO(b"x\nerror: y\n").readinto)] == [2]
    return matcher


@pytest.fixture
def compile_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count compilations. A matcher has two databases, for the scan and for picked lines."""
    times: list[int] = []
    real = hyperscan_engine.HyperscanEngine._compile
    monkeypatch.setattr(hyperscan_engine.HyperscanEngine, "_compile", lambda *a: times.append(1) or real(*a))
    return times


def test_the_second_build_compiles_nothing(tmp_path: Path, compile_calls: list[int]) -> None:
    build(tmp_path / "new" / "folder")
    build(tmp_path / "new" / "folder")
    assert len(compile_calls) == 2


def test_other_patterns_are_other_files(tmp_path: Path, compile_calls: list[int]) -> None:
    build(tmp_path)
    build(tmp_path, [Pattern.of_form("error: [a-z]"), Pattern.of_form("peer [0-9]+ found")])
    assert len(compile_calls) == 4
    assert len(list(tmp_path.iterdir())) == 4


def test_changed_site_pattern_leaves_the_shipped_database(tmp_path: Path, compile_calls: list[int]) -> None:
    own = [Pattern.of_form("error: own"), Pattern.of_form("error: other")]
    for pattern in own:
        matcher = Matcher.load(make_plan([*PATTERNS, pattern], len(PATTERNS)), tmp_path, "hyperscan")
    assert len(compile_calls) == 3 + 2
    assert matcher.match(b"peer 7 lost, error: other") == (0, 1, 2)


def test_stored_pattern_is_not_derived_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = PatternCache(tmp_path / "patterns.json")
    derived = [first.derive("peer [0-9]+ lost"), first.derive("peer [0-9]+ lost", within=True)]
    first.save()
    monkeypatch.setattr(kept_patterns, "make_pattern", None)
    second = PatternCache(tmp_path / "patterns.json")
    assert [second.derive("peer [0-9]+ lost"), second.derive("peer [0-9]+ lost", within=True)] == derived


@pytest.mark.parametrize("damaged", [b"", b"[]", b'{"00peer": 1}', b'{"00peer": ["a"'])
def test_damaged_pattern_file_is_derived_again(tmp_path: Path, damaged: bytes) -> None:
    cached_files.write(tmp_path / "patterns.json", damaged)
    assert PatternCache(tmp_path / "patterns.json").derive("peer lost") == make_pattern("peer lost")


def test_unused_patterns_are_dropped_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "patterns.json"
    for texts in (["peer lost", "peer gone", "peer found"], ["link down"]):
        patterns = PatternCache(file)
        for text in texts:
            patterns.derive(text)
        patterns.save()
    assert list(json.loads(file.read_bytes())) == ["00link down"]


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

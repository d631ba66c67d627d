"""The scan: order and numbers of candidates, following lines, throttling, hostile input."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.matcher import Matcher, Pattern, make_pattern, make_plan
from logdoctor.matcher.engine import ID_BITS, ID_MASK, load_engine
from logdoctor.matcher.hyperscan_engine import HyperscanEngine
from logdoctor.matcher.scan import TAIL_BYTES, Scan
from logdoctor.matcher.throttle import (
    BACKOFF_WINDOWS,
    EXHAUSTED_TAIL_HITS,
    JOB_FACTOR,
    MAX_HITS,
    MAX_OFTEN_HITS,
    OFTEN_TAIL_HITS,
    OFTEN_TAIL_TOTAL,
    TAIL_HITS,
    StreamThrottle,
)
from logdoctor.matcher.window import FOLLOWING_BYTES, FOLLOWING_LINES, WINDOW_BYTES
from logdoctor.model import Candidate, LogdoctorError

ENGINES = ["hyperscan", "re2", "regex"]
FORMS = ["error: [a-z]", "peer [0-9]+ lost", r"lost[^\n\r]*again", "(?i)watchdog", "error"]
PREFILTERS = {name: Matcher.load(make_plan([Pattern.of_form(f) for f in FORMS]), None, name) for name in ENGINES}


def reader(data: bytes, chunk: int = sys.maxsize) -> Callable[[memoryview], int]:
    """Return a ``readinto`` that gives at most ``chunk`` bytes at a time."""
    file = io.BytesIO(data)
    return lambda view: file.readinto(view[:chunk])


def scan_lines(
    data: bytes, engine: str = "hyperscan", chunk: int = sys.maxsize
) -> tuple[list[tuple[int, bytes, tuple[int, ...]]], Scan]:
    scan = PREFILTERS[engine].scan(reader(data, chunk))
    return [(c.number, c.raw, c.patterns) for c in scan], scan


def expected(data: bytes) -> list[tuple[int, bytes, tuple[int, ...]]]:
    """Compute the candidates by plain means.

    Each pattern is searched in each line and in each part between carriage returns.
    """
    matches = []
    for number, line in enumerate(data.split(b"\n"), 1):
        for part in line.split(b"\r"):
            ids = tuple(i for i, f in enumerate(FORMS) if re.search(f.encode(), part))
            if ids:
                matches.append((number, part, ids))
    return matches


PIECES = st.sampled_from(
    [
        b"error",
        b"error: x",
        b"peer 7 lost",
        b" again",
        b"WatchDog",
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b" ",
        b"\xff\x00",
        b"step 4",
    ]
)


def test_line_that_a_record_took_is_no_candidate_and_is_not_searched():
    searched = []
    scan = PREFILTERS["hyperscan"].scan(reader(b"error: a\nerror: b\nerror: c\n"))
    match, taken = scan._match_line, set()
    scan._match_line, scan.is_taken = lambda line: (searched.append(line), match(line))[1], taken.__contains__
    numbers = [(c.number, taken.add(c.number + 1))[0] for c in scan]
    assert numbers == [1, 3]
    assert searched == [b"error: a", b"error: c"]


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=40).map(b"".join), st.integers(1, 50))
def test_all_engines_agree_with_a_plain_loop(data: bytes, chunk: int) -> None:
    for engine in ENGINES:
        assert scan_lines(data, engine, chunk)[0] == expected(data)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_and_totals_hold_over_many_windows(engine: str) -> None:
    lines = [b"step %d %s" % (n, b"." * (n % 300)) for n in range(9000)]
    for n in range(0, 9000, 371):
        lines[n] += b" peer 5 lost"
    data = b"\n".join(lines)
    assert len(data) > 4 * WINDOW_BYTES
    matches, scan = scan_lines(data, engine, 100_000)
    assert matches == expected(data)
    assert (scan.bytes, scan.lines, scan.throttled_patterns) == (len(data), 9000, ())


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\nb", 2), (b"a\nb\n", 2), (b"\r\r", 1)]
)
def test_a_last_line_counts_with_or_without_its_newline(data: bytes, lines: int) -> None:
    scan = scan_lines(data)[1]
    assert (scan.lines, scan.bytes) == (lines, len(data))


def test_input_is_not_read_after_its_end() -> None:
    answers = [b"error\n", b""]

    def readinto(view: memoryview) -> int:
        data = answers.pop(0)
        view[: len(data)] = data
        return len(data)

    assert [c.number for c in PREFILTERS["hyperscan"].scan(readinto)] == [1]


# ── overlong lines ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_huge_progress_bar_is_split_at_carriage_returns() -> None:
    data = b"\r".join(b"%7d/99999 it" % n for n in range(60_000)) + b"\rerror: disk\rfine\nerror\n"
    matches, scan = scan_lines(data)
    assert matches == [(1, b"error: disk", (0, 4)), (2, b"error", (4,))]
    assert scan.lines == 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "at",
    [
        100,
        WINDOW_BYTES - 9000,
        WINDOW_BYTES - 8192,
        WINDOW_BYTES - 3,
        WINDOW_BYTES,
        WINDOW_BYTES + 8192,
        2 * WINDOW_BYTES - 8195,
        600_000,
    ],
)
def test_hit_in_an_overlong_line_is_found_once_with_its_surroundings(engine: str, at: int) -> None:
    data = bytearray(b"x" * 700_000 + b"\nnext error\n")
    data[at : at + 11] = b"peer 9 lost"
    matches, scan = scan_lines(bytes(data), engine)
    assert [(n, ids) for n, _, ids in matches] == [(1, (1,)), (2, (4,))]
    around = bytes(data[max(0, at - 2000) : at + 2000].split(b"\n")[0])
    assert around in matches[0][1]
    assert len(matches[0][1]) <= 16 << 10
    assert scan.lines == 2


def test_distant_hits_in_one_long_line_are_separate_candidates() -> None:
    data = b"error" + b"." * 50_000 + b"peer 1 lost" + b"." * 50_000 + b"\n"
    assert [(n, ids) for n, _, ids in scan_lines(data)[0]] == [(1, (4,)), (1, (1,))]


def test_part_of_a_long_line_begins_and_ends_with_an_ellipsis_where_it_was_cut() -> None:
    data = b"." * 50_000 + b"peer 1 lost" + b"." * 50_000 + b"\npeer 2 lost" + b"." * 50_000 + b"\npeer 3 lost"
    matches, scan = scan_lines(data)
    mark = "…".encode()
    assert [(raw.startswith(mark), raw.endswith(mark)) for _, raw, _ in matches] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert scan.cut_lines == 2


# ── following lines ─────────────────────────────────────────────────────────────────────────────────────────────────


def following(data: bytes, chunk: int = sys.maxsize) -> tuple[list[tuple[Candidate, list[bytes]]], Scan]:
    scan = PREFILTERS["hyperscan"].scan(reader(data, chunk))
    return [(c, list(c.following())) for c in scan], scan


def test_a_candidate_gives_the_lines_below_it_without_line_breaks() -> None:
    pairs, _ = following(b"a\nerror: x\r\n  one\r\n\ntwo\rhalf\nlast")
    assert [below for _, below in pairs] == [[b"  one", b"", b"two\rhalf", b"last"]]


def test_following_reads_past_the_window_and_these_lines_are_still_scanned() -> None:
    data = (
        b"." * (WINDOW_BYTES - 20) + b"\nerror: x\n" + b"".join(b"%d below\n" % n for n in range(500)) + b"error\nend\n"
    )
    pairs, scan = following(data, 5000)
    assert [c.number for c, _ in pairs] == [2, 503]
    assert pairs[0][1] == [b"%d below" % n for n in range(FOLLOWING_LINES)]
    assert (scan.bytes, scan.lines) == (len(data), 504)


@pytest.mark.parametrize("lead", [0, WINDOW_BYTES - 30_000, WINDOW_BYTES - 300])
def test_following_is_bounded_in_bytes_and_does_not_change_the_scan(lead: int) -> None:
    data = b"." * lead + b"\n" + b"".join(b"error %d %s\n" % (n, b"y" * 900) for n in range(900))
    pairs, scan = following(data, 70_000)
    assert [(c.number, c.raw, c.patterns) for c, _ in pairs] == expected(data)
    assert all(sum(map(len, below)) <= FOLLOWING_BYTES for _, below in pairs)
    assert max(len(below) for _, below in pairs) > 60
    assert scan.lines == 901


def test_following_below_an_endless_line_ends() -> None:
    pairs, _ = following(b"error" + b"z" * 1_000_000)
    assert [below for _, below in pairs] == [[]]


def test_following_of_a_passed_candidate_is_empty() -> None:
    data = b"error\nbelow\n" + b"." * WINDOW_BYTES + b"\n" + b"." * WINDOW_BYTES + b"\nerror\nend\n"
    first, last = PREFILTERS["hyperscan"].scan(reader(data))
    assert list(first.following()) == []
    assert last.number == 5


# ── throttling ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("engine", ENGINES)
def test_frequent_pattern_is_throttled_and_others_lose_no_hit(engine: str) -> None:
    lines = [b"error in step %06d" % n for n in range(100_000)]
    for n in range(50, 100_000, 9973):
        lines[n] += b" watchdog"
    matches, scan = scan_lines(b"\n".join(lines), engine)
    assert scan.throttled_patterns == (4,)
    assert [n for n, _, ids in matches if 3 in ids] == [n + 1 for n in range(50, 100_000, 9973)]
    assert all(ids == (3, 4) for _, _, ids in matches if 3 in ids)
    assert [n for n, _, _ in matches][:MAX_HITS] == list(range(1, MAX_HITS + 1))
    assert [n for n, _, _ in matches][-TAIL_HITS:] == list(range(100_001 - TAIL_HITS, 100_001))
    assert len(matches) < 40_000


def test_often_pattern_is_throttled_sooner() -> None:
    matcher = Matcher.load(make_plan([Pattern.of_form("step [0-9]", often=True), Pattern.of_form("error")]), None)
    data = b"".join(b"step %d %s\n" % (n, b"." * 100) for n in range(30_000)) + b"error\n"
    scan = matcher.scan(reader(data))
    numbers = [c.number for c in scan]
    assert numbers[:MAX_OFTEN_HITS] == list(range(1, MAX_OFTEN_HITS + 1))
    assert numbers[-1] == 30_001
    assert len(numbers) < 10_000
    assert scan.throttled_patterns == (0,)


@pytest.mark.parametrize("engine", ENGINES)
def test_reset_reports_often_patterns_again_for_a_while(engine: str) -> None:
    matcher = Matcher.load(
        make_plan([Pattern.of_form("step [0-9]", often=True), Pattern.of_form("error")]), None, engine
    )
    lines = [b"step %d %s\n" % (n, b"." * 100) for n in range(1, 30_001)]
    lines[14_999] = b"error\n"
    scan = matcher.scan(reader(b"".join(lines)))
    numbers = []
    for candidate in scan:
        numbers.append(candidate.number)
        if 1 in candidate.patterns:
            scan.reset_throttle()
    at = numbers.index(15_000)
    assert numbers[at : at + MAX_OFTEN_HITS + 1] == list(range(15_000, 15_001 + MAX_OFTEN_HITS))
    assert len(numbers) < 10_000


def test_throttled_pattern_is_reported_in_fewer_and_fewer_windows() -> None:
    throttle = StreamThrottle(often=frozenset({3}))
    throttle.count_hits([n << ID_BITS | 3 for n in range(MAX_OFTEN_HITS + 1)])
    windows = [
        n
        for n in range(1, 5000)
        if throttle.before_window(last=False)
        and throttle.count_hits([9 << ID_BITS | 3, 9 << ID_BITS | 4]) == [9 << ID_BITS | 3, 9 << ID_BITS | 4]
    ]
    assert windows[: BACKOFF_WINDOWS - 1] == list(range(1, BACKOFF_WINDOWS))
    assert windows[-1] - windows[-2] > BACKOFF_WINDOWS
    assert len(windows) < 500


def test_often_patterns_move_to_a_second_database_with_the_same_hits(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("logdoctor.matcher.hyperscan_engine._OFTEN_COMPILE_COST", 2000)
    patterns = [
        Pattern.of_form("step [0-9]", often=True),
        Pattern.of_form("error"),
        Pattern.of_form("epoch [0-9]", often=True),
    ]
    data = b"".join(b"step %d %s\n" % (n, b"error" * (n % 999 == 0) + b"." * 100) for n in range(30_000)) + b"epoch 7\n"
    loud = list(Matcher.load(make_plan(patterns), None, "re2").scan(reader(data)))
    for _ in range(2):  # compiled in the first round, read from the cache in the second
        quiet = list(Matcher.load(make_plan(patterns), tmp_path, "hyperscan").scan(reader(data)))
        assert [(c.number, c.patterns) for c in quiet] == [(c.number, c.patterns) for c in loud]
    assert sum(1 in c.patterns for c in quiet) == 31
    assert quiet[-1].patterns == (2,)
    assert len(list(tmp_path.iterdir())) == 3  # for the scan (two), for often patterns reported once


def test_throttling_another_pattern_loses_no_hit(monkeypatch) -> None:
    monkeypatch.setattr("logdoctor.matcher.hyperscan_engine._FLOOD_COMPILE_COST", 50)
    plan = make_plan([Pattern.of_form("step [0-9]"), Pattern.of_form("error")])
    session = load_engine(plan, None, "hyperscan").session()
    window = memoryview(b"step 1\nerror\n" * 100)
    for _ in range(3):  # from the second round on the first pattern has its own database
        assert len(set(session.hits(window, {0: -1}))) == 101
    assert len(set(session.hits(window, {1: -1}))) == 101
    assert len(set(session.hits(window, {}))) == 200


def test_many_patterns_on_every_word_keep_memory_and_answers_bounded() -> None:
    matcher = Matcher.load(
        make_plan([Pattern.of_form(f"err(?:or){{0,{n}}}") for n in range(1, 30)] + [Pattern.of_form("the needle")]),
        None,
        "hyperscan",
    )
    data = (b"err " * 40_000 + b"\n") * 3 + b"the needle\n" + (b"error " * 40_000 + b"\n") * 3
    scan = matcher.scan(reader(data))
    candidates = list(scan)
    assert [c.number for c in candidates if 29 in c.patterns] == [4]
    assert len(candidates) < 3000


# ── engines ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_missing_library_selects_the_next_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    for missing, left in (("hyperscan", "re2"), ("re2", "regex")):
        monkeypatch.setitem(sys.modules, missing, None)
        monkeypatch.delitem(sys.modules, f"logdoctor.matcher.{missing}_engine", raising=False)
        assert Matcher.load(make_plan([Pattern.of_form("error")]), None).engine == left


def test_missing_required_engine_is_an_error_with_its_reason() -> None:
    with pytest.raises(LogdoctorError, match="no such engine"):
        Matcher.load(make_plan([Pattern.of_form("error")]), None, "grep")


def test_no_patterns_give_no_candidates() -> None:
    scan = Matcher.load(make_plan([]), None).scan(reader(b"error\n"))
    assert list(scan) == []
    assert scan.lines == 1


def test_match_reads_a_block_of_lines_as_one() -> None:
    for matcher in PREFILTERS.values():
        assert matcher.match(b"peer 3 lost\r\nand again") == (1, 2)


def test_two_scans_may_be_under_way_at_once() -> None:
    first, second = (iter(PREFILTERS["hyperscan"].scan(reader(b"error\nerror\n"))) for _ in range(2))
    assert [(a.number, b.number) for a, b in zip(first, second, strict=True)] == [(1, 1), (2, 2)]


def test_often_pattern_in_a_short_log_is_reported_at_head_and_end() -> None:
    matcher = Matcher.load(make_plan([Pattern.of_form("step [0-9]", often=True), Pattern.of_form("error")]), None)
    numbers = [c.number for c in matcher.scan(reader(b"step 0\n" * 500 + b"error\n" + b"step 1\n" * 500))]
    assert numbers == [*range(1, MAX_OFTEN_HITS + 1), 501, *range(1002 - OFTEN_TAIL_TOTAL, 1002)]


def test_rarer_often_pattern_is_reported_at_the_end_as_well() -> None:
    often = [Pattern.of_form(form, often=True) for form in ("step [0-9]", "epoch [0-9]")]
    matcher = Matcher.load(make_plan(often), None)
    lines = [b"epoch 1\n" if n % 50 == 0 else b"step 1\n" for n in range(1, 2001)]
    numbers = [c.number for c in matcher.scan(reader(b"".join(lines)))]
    epochs = [n for n in numbers if n % 50 == 0]
    assert epochs[-OFTEN_TAIL_HITS:] == list(range(2050 - 50 * OFTEN_TAIL_HITS, 2001, 50))
    assert numbers[-OFTEN_TAIL_TOTAL:] == list(range(2001 - OFTEN_TAIL_TOTAL, 2001))


# ── the streams of one job ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("engine", ENGINES)
def test_exhausted_pattern_is_reported_only_at_the_end_of_later_streams(engine: str) -> None:
    matcher = Matcher.load(
        make_plan([Pattern.of_form("step [0-9]", often=True), Pattern.of_form("error")]), None, engine
    )
    file = b"step 0\n" * 200 + b"error\n" + b"step 1\n" * 200 + b"." * TAIL_BYTES + b"\nstep 2\nstep 3\nstep 4\n"
    scans = matcher.job_scanner()
    numbers = [[c.number for c in scans(reader(file))] for _ in range(JOB_FACTOR)]
    assert len(numbers[0]) == MAX_OFTEN_HITS + 1 + OFTEN_TAIL_TOTAL
    assert numbers[-1] == [201, 404, 405]


def test_hit_counts_start_anew_for_each_job() -> None:
    matcher = Matcher.load(make_plan([Pattern.of_form("step [0-9]", often=True)]), None)
    file = b"step 0\n" * 200
    scans = matcher.job_scanner()
    counts = [len(list(scans(reader(file)))) for _ in range(JOB_FACTOR + 1)]
    assert (counts[0], counts[-1]) == (MAX_OFTEN_HITS + OFTEN_TAIL_TOTAL, EXHAUSTED_TAIL_HITS)
    assert len(list(matcher.job_scanner()(reader(file)))) == MAX_OFTEN_HITS + OFTEN_TAIL_TOTAL


def test_split_databases_are_left_when_other_patterns_are_throttled():
    patterns = [Pattern.of_form("lost [0-9]"), Pattern.of_form("late [0-9]"), Pattern.of_form("gone [0-9]", often=True)]
    session = HyperscanEngine(make_plan(patterns), None).session()
    session._wasted_calls = 2 * session._flood_threshold  # as after a long time of throttling
    session.hits(memoryview(b"lost 1, late 2"), {0: -1, 1: -1})
    ids = {hit & ID_MASK for hit in session.hits(memoryview(b"lost 1, late 2, gone 3"), {2: -1})}
    assert ids == {0, 1, 2}


@pytest.mark.parametrize("engine", ENGINES)
def test_inner_pattern_picks_no_line_but_is_found_in_picked_ones(engine: str) -> None:
    patterns = [make_pattern("lost peer"), make_pattern("heartbeat of (?P<who>peer)", picks=False)]
    matcher = Matcher.load(make_plan(patterns), None, engine)
    data = b"heartbeat of peer 7\nlost peer 7, no heartbeat of peer 7\n"
    assert [(c.number, c.patterns) for c in matcher.scan(reader(data))] == [(2, (0, 1))]
    assert matcher.match(b"heartbeat of peer 7") == (1,)


@pytest.mark.parametrize("engine", ENGINES)
def test_patterns_that_share_a_text_are_found_together(engine: str) -> None:
    patterns = [make_pattern("connection lost to (?P<peer>.+)"), make_pattern("^connection lost to [0-9]+")]
    assert Matcher.load(make_plan(patterns), None, engine).match(b"connection lost to node3") == (0, 1)


def test_lines_are_matched_about_once_despite_many_resets() -> None:
    matcher = Matcher.load(make_plan([Pattern.of_form("done")]), None)
    matched_lines: list[bytes] = []
    name = matcher._match_line
    matcher._match_line = lambda raw: matched_lines.append(raw) or name(raw)
    scan = matcher.scan(reader(b"done\n" * 1000))
    for _ in scan:
        scan.reset_throttle()
    assert 1000 <= len(matched_lines) < 1100

"""Lanes and grids of one to a thousand ranks."""

from __future__ import annotations

from msgspec.structs import replace
from render_diagnoses import OOM, T0, THOUSAND, make_evidence

from logdoctor.model import CollectiveState, JobSummary, Moment, RankRow
from logdoctor.render import render
from logdoctor.render.catalogue import catalogue
from logdoctor.render.collective_grid import grids
from logdoctor.render.rank_grid import rank_grid
from logdoctor.render.timeline import MOST_LANES, timeline

EN = catalogue("en")


def row(rank, role="victim", failed=None, progressed=None, file="job.log", **more):
    """Make a row. ``failed`` and ``progressed`` are a line, or a line and a time."""
    failure = None
    if failed is not None:
        line, time = failed if isinstance(failed, tuple) else (failed, None)
        failure = make_evidence(f"{file}:{line}", "timeout", rank=rank, time=time)
    progress = None
    if progressed is not None:
        progress = Moment(file, *(progressed if isinstance(progressed, tuple) else (progressed,)))
    return RankRow(rank, role, "node-1", first_failure=failure, progressed=progress, last_progress="step 4", **more)


def of(*rows, decisive=None):
    evidence = (decisive,) if decisive else ()
    cause = replace(OOM.causes[0], evidence=evidence)
    return timeline(replace(OOM, causes=(cause,), job=JobSummary(rank_table=rows)), EN)


def places(lanes):
    return {(lane.line.ranks, mark.kind): mark.at for lane in lanes.lanes for mark in lane.marks}


def test_earlier_moments_stand_left():
    at = places(of(row(0, "culprit", failed=(9, T0 + 60), progressed=(3, T0)), row(1, failed=(20, T0 + 660))))
    assert at["rank 0", "progress"] < at["rank 0", "failure"] < at["rank 1", "failure"]


def test_timeline_without_times_uses_line_numbers_and_notes_it():
    chart = of(row(0, "culprit", failed=50), row(1, failed=90))
    assert "By line of job.log" in chart.note
    assert places(chart)["rank 0", "failure"] < places(chart)["rank 1", "failure"]
    assert all(text.startswith(":") for _, text in chart.ticks)


def test_two_logs_without_times_have_lanes_and_no_order():
    chart = of(row(0, "culprit", failed=50, file="a"), row(1, failed=90, file="b"))
    assert len(chart.lanes) == 2
    assert not chart.ticks
    assert not places(chart)


def test_single_moment_gives_no_ticks():
    chart = of(row(0, "culprit"), row(1, failed=(9, T0)))
    assert len(chart.lanes) == 2
    assert not chart.ticks


def test_stamps_without_a_year_stand_among_those_with_one():
    no_year = T0 - 1_735_689_600.0  # 2025-01-01
    at = places(of(row(0, "culprit", failed=(1, T0)), row(1, failed=(2, no_year + 60)), row(2, failed=(3, T0 + 120))))
    assert at["rank 0", "failure"] < at["rank 1", "failure"] < at["rank 2", "failure"]


def test_progress_hours_before_does_not_squeeze_the_failures():
    rows = [
        row(0, "culprit", failed=(9, T0), progressed=(1, T0 - 36_000)),
        row(1, failed=(20, T0 + 600), progressed=(2, T0 - 5)),
    ]
    at = places(of(*rows))
    assert at["rank 0", "progress"] == 0
    assert at["rank 1", "failure"] - at["rank 0", "failure"] > 50


def test_the_decisive_line_has_its_place_on_the_axis():
    chart = of(row(0, "culprit", failed=10), row(1, failed=90), decisive=make_evidence("job.log:50", "killed"))
    assert 40 < chart.decisive < 60


def test_a_place_names_its_file_unless_all_failed_in_that_of_the_decisive_line():
    first = of(row(0, "culprit", failed=10), row(1, failed=90), decisive=make_evidence("job.log:10", "killed"))
    assert [lane.line.location for lane in first.lanes] == [":10", ":90"]
    second = of(
        row(0, "culprit", failed=10), row(1, failed=90, file="b"), decisive=make_evidence("job.log:10", "killed")
    )
    assert [lane.line.location for lane in second.lanes] == ["job.log:10", "b:90"]


def test_a_thousand_ranks_share_a_few_lanes_and_the_culprit_has_its_own():
    chart = timeline(THOUSAND, EN)
    assert len(chart.lanes) <= MOST_LANES
    assert chart.lanes[0].line.ranks == "rank 512"


def test_rank_grid_has_a_cell_per_rank_and_the_culprits_host_beside_it():
    grid = rank_grid(THOUSAND.job.rank_table, EN)
    assert sum(path.count("M") for _, path in grid.cells.paths) == 1024
    assert [host.name for host in grid.hosts] == ["pod-d1-r08-n00"]
    assert "rank 512: culprit" in grid.hosts[0].cells.label
    assert grid.alike[0] == "126 hosts: victim"


def test_page_of_4096_ranks_is_small_and_its_grid_at_most_520_pixels_high():
    rows = tuple(
        RankRow(n, "culprit" if n == 77 else "victim", f"gpu-{n // 8:03}", n % 8, failure="collective.timeout")
        for n in range(4096)
    )
    page = render(replace(THOUSAND, job=replace(THOUSAND.job, rank_table=rows)), "html")
    assert len(page.encode()) <= 300_000
    grid = rank_grid(rows, EN)
    assert max(grid.cells.width, grid.cells.height) <= 520
    assert grid.alike == ("511 hosts: victim",)


def test_few_ranks_give_no_rank_grid():
    assert rank_grid([row(n) for n in range(8)], EN) is None


def standing_grid(*standings, culprit=None, expected=None):
    table = (RankRow(culprit, "culprit"),) if culprit is not None else ()
    (grid,) = grids(JobSummary(ranks_expected=expected, rank_table=table, standings=standings), EN)
    return grid, {r.ranks: [cell.state for cell in r.cells] for r in grid.rows}


def test_the_rank_that_never_started_stands_first_and_apart():
    waits = [CollectiveState("0", n, 7, "ALLREDUCE", 8, 6) for n in (0, 1, 3)]
    grid, states = standing_grid(*waits, CollectiveState("0", 2, None, "", 6, 6), culprit=2)
    assert grid.numbers == (6, 7, 8)
    assert grid.rows[0].odd
    assert states == {"rank 2": ["done", "absent", "absent"], "ranks 0-1,3": ["done", "waits", "started"]}


def test_collectives_between_distant_waits_are_left_out():
    grid, _ = standing_grid(CollectiveState("0", 0, 7, "ALLREDUCE"), CollectiveState("0", 1, 900, "ALLREDUCE"))
    assert grid.numbers == (7, None, 900)


def test_ranks_without_log_lines_are_named():
    grid, _ = standing_grid(CollectiveState("0", 0, 7, "A"), CollectiveState("0", 1, 7, "A"), expected=4)
    assert grid.silent_ranks == "ranks 2-3"

"""The fleet report: figures, lists of jobs, safety, and its commands."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from command_line import call
from hostile_texts import HOSTILE
from msgspec import Struct
from msgspec.structs import asdict, replace
from page_parts import OUR_ATTRIBUTES, OUR_TAGS, own_code, parse

from logdoctor.archive.checkpoint_log import CheckpointWriter
from logdoctor.archive.fleet import count_records
from logdoctor.archive.fleet_chart import HEIGHT, make_chart
from logdoctor.archive.fleet_page import MAX_BYTES, WORDS, render_page
from logdoctor.archive.record import CauseRow, JobRecord, RankEntry
from logdoctor.model import Problem
from logdoctor.render import languages

MONDAY = 1_793_577_600.0  # 2026-11-02
DAY = 86400.0
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
OURS = {"status", "verdict", "action", "decision", "schema"}
"""Fields that hold a word of the program, not a text of a log."""

pytestmark = pytest.mark.usefixtures("clean_environment")


def failed(job: str, signature: str = "cuda.ecc", **more) -> JobRecord:
    more = {"verdict": "failed", "changed": MONDAY, "action": "exclude", **more}
    return JobRecord(job, signature=signature, **more)


PROBLEM = (Problem("was not diagnosed", "w", "it took longer", "h"),)
FULL = [
    *(
        failed(
            f"jobs/bad{n}",
            title="An ECC error",
            hosts=("n1",),
            gpus=("n1:3",),
            nodes=("n1", "n2"),
            fingerprint="f",
            proof_file="a.log",
            proof_line=7,
            proof="Xid 48",
            size=8,
            started=MONDAY,
            ended=MONDAY + DAY * n,
            attempts=2,
            decision="requeue-without-host",
            causes=(CauseRow("cuda.ecc", peers=("10.0.0.7:1",)),),
            rank_table=(RankEntry(0, "culprit", "n1", "3"),),
        )
        for n in range(9)
    ),
    *(
        JobRecord(f"jobs/good{n}", verdict="finished", signature="finished", nodes=("n2", "n3"), changed=MONDAY)
        for n in range(60)
    ),
    JobRecord("jobs/odd", verdict="unknown", signature="unknown", templates=("panic <n>",), changed=MONDAY),
    JobRecord("jobs/slow", status="stalled", changed=MONDAY, problems=PROBLEM),
]


def render(records: list[JobRecord], lang: str = "en", **settings) -> str:
    return render_page(count_records(records, None, **settings), lang)


def replace_texts(part, text):
    """Replace every text of ``part`` that comes from a log by ``text``."""
    if isinstance(part, str):
        return text
    if isinstance(part, tuple):
        return tuple(replace_texts(item, text) for item in part)
    if isinstance(part, dict):
        return {key: replace_texts(value, text) for key, value in part.items()}
    if isinstance(part, Struct):
        return replace(
            part, **{name: replace_texts(value, text) for name, value in asdict(part).items() if name not in OURS}
        )
    return part


def test_page_has_shares_and_cost():
    text = " ".join(parse(render(FULL)).text.split())
    assert "10 of 71 jobs failed" in text
    assert "Finished86 %" in text
    assert "GPU-hours lost6,912" in text
    assert "cuda.ecc, 90 % of the failures" in text


def test_bad_host_has_a_sentence_with_its_figures():
    text = " ".join(parse(render(FULL)).text.split())
    assert "n1 was the culprit in 9 of its 9 jobs, where 0.1 would be usual" in text
    assert "once in" in text


def test_fleet_page_without_bad_host_has_a_sentence_about_it():
    assert "No host and no GPU is culprit more often" in parse(render(FULL[9:])).text


def test_every_number_has_a_list_of_its_jobs():
    text = parse(render(FULL)).text
    assert all(f"bad{n}" in text for n in range(9))
    assert all(name in text for name in ("good0", "odd", "slow", "panic <n>", "it took longer"))


def test_common_folder_is_printed_once():
    text = parse(render(FULL)).text
    assert text.count("jobs/") == 1


def test_long_list_of_jobs_is_cut_with_a_note():
    text = parse(render([failed(f"j{n:04}") for n in range(500)])).text
    assert "… and 400 more, not named here" in text
    assert "j0099" in text
    assert "j0100" not in text


def test_option_new_since_lists_new_causes():
    jobs = [failed("old"), failed("new", "net.dns", changed=MONDAY + DAY)]
    assert "New causes" not in parse(render(jobs)).text
    section = parse(render(jobs, new_since=MONDAY + 60)).text.partition("first seen since 2026-11-02")[2]
    assert "net.dns" in section


def test_fleet_without_jobs_has_a_page():
    assert "0 of 0 jobs failed" in parse(render([])).text


@pytest.mark.parametrize("lang", languages())
def test_every_language_has_the_same_words(lang):
    english, other = (json.loads((WORDS / f"{name}.json").read_text("utf-8")) for name in ("en", lang))
    assert other.keys() == english.keys()
    assert [sorted(re.findall(r"{\w+}", t)) for t in other.values()] == [
        sorted(re.findall(r"{\w+}", t)) for t in english.values()
    ]
    assert f'<html lang="{lang}">' in render(FULL, lang)


# ── chart ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_height_of_bars_is_proportional_to_failures():
    jobs = [failed(f"a{n}") for n in range(6)] + [failed(f"b{n}", "net.dns", changed=MONDAY + DAY) for n in range(3)]
    chart = make_chart(count_records(jobs, "day"))
    assert [(bar.name, bar.failed) for bar in chart.bars] == [("2026-11-02", 6), ("2026-11-03", 3)]
    assert [round(segment.height) for bar in chart.bars for segment in bar.segments] == [HEIGHT, HEIGHT // 2]
    assert {segment.color for bar in chart.bars for segment in bar.segments} == {1, 2}


@pytest.mark.parametrize("period", ["day", "week", "month"])
@pytest.mark.parametrize("years", [1, 60])
def test_axis_of_time_is_to_scale(period, years):
    times = [MONDAY, MONDAY + years * 100 * DAY, MONDAY + years * 400 * DAY]
    bars = make_chart(count_records([failed(f"j{n}", changed=time) for n, time in enumerate(times)], period)).bars
    first, middle, last = (bar.middle for bar in bars if bar.failed)
    one_period = bars[0].middle * 2
    assert (middle - first) / (last - first) == pytest.approx(1 / 4, abs=one_period / 100)
    assert 0 <= bars[0].x < bars[-1].x + bars[-1].width <= 100.2
    labels = [bar.middle for bar in bars if bar.label]
    assert len(labels) <= 12
    assert all(right - left >= 100 / 13 for left, right in pairwise(labels))


def test_list_of_jobs_tells_id_start_end_and_decision():
    jobs = [
        failed("a", job_id="48213", started=MONDAY, ended=MONDAY + 4200.0, decision="requeue"),
        failed("b", job_id="<b>", started=MONDAY, ended=MONDAY + DAY),
        failed("c", started=MONDAY),
    ]
    html = render(jobs)
    assert '<li>a <span class="soft">job 48213 · 2026-11-02 00:00 – 01:10 · Start again as it is</span></li>' in html
    assert '<li>b <span class="soft">job &lt;b&gt; · 2026-11-02 00:00 – 2026-11-03 00:00</span></li>' in html
    assert "<li>c</li>" in html
    assert '<td class="soft days">2026-11-02 00:00 – 01:10</td>' in html


def test_rare_causes_share_a_color():
    chart = make_chart(count_records([failed(f"j{n}", f"a.c{n:02}") for n in range(20)], "day"))
    assert chart.bars[0].segments[-1].count == 12
    assert chart.legend[-1] == (0, "", 12)


@pytest.mark.parametrize(("days", "period"), [(3, "day"), (100, "week"), (900, "month")])
def test_period_follows_from_the_time_span(days, period):
    fleet = count_records([failed("a"), failed("b", changed=MONDAY + days * DAY)], None)
    assert fleet.period == period
    assert 2 <= len(fleet.periods) <= 46


@pytest.mark.parametrize("changed", [-1e300, 0.0, 1e300, float("nan")])
def test_job_without_valid_date_is_counted(changed):
    assert "1 of 1 job failed" in parse(render([failed("a", changed=changed)])).text


# ── safety ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_page_loads_nothing_and_allows_only_its_own_style_and_script():
    html = render(FULL)
    assert "default-src 'none'; style-src 'sha256-" in html
    assert [link for link in parse(html).links if not link.startswith("#")] == []
    assert parse(html).tags <= OUR_TAGS
    assert parse(html).attributes <= OUR_ATTRIBUTES


def test_hostile_texts_change_no_markup():
    records = [*FULL[:3], *FULL[9:12], *FULL[-2:]]
    plain = render([replace_texts(record, "plain") for record in records])
    harmless = parse(plain)
    for text in HOSTILE:
        html = render([replace_texts(record, text) for record in records])
        page = parse(html)
        assert not HIDDEN.search(html), text
        assert (page.order, page.links, page.ids) == (harmless.order, harmless.links, harmless.ids), text
        assert page.attributes <= OUR_ATTRIBUTES, text
        assert own_code(html) == own_code(plain), text


def test_secrets_are_redacted_in_the_page():
    token = "hf_" + "aB3dE6gH9jK2mN5pQ8sT" + "1vW4yZ7bC0"
    line = f"could not download with HF_TOKEN={token}"
    jobs = [
        failed("a", proof=line, title=line, fingerprint="f"),
        failed("b", fingerprint="f"),
        JobRecord("c", verdict="unknown", signature="unknown", templates=(line,)),
    ]
    assert token not in render(jobs)
    assert "redacted" in render(jobs)


def test_large_fleet_gives_a_page_within_the_limit_with_a_note():
    jobs = [
        failed(f"{n}-" + "<&>" * 300, f"a.c{n % 400}", hosts=(f"h{n % 700}" + "&" * 300,), fingerprint=f"{n % 300}")
        for n in range(6000)
    ]
    html = render(jobs)
    assert len(html.encode()) <= MAX_BYTES
    assert "were shortened" in parse(html).text
    assert "were shortened" not in parse(render(FULL)).text


def test_same_jobs_give_the_same_bytes():
    assert render(FULL) == render(FULL)


# ── the command line ────────────────────────────────────────────────────────────────────────────────────────────────

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"


@pytest.fixture
def results(tmp_path):
    writer = CheckpointWriter(tmp_path / "scan")
    for record in FULL:
        writer.add(record)
    writer.close()
    return tmp_path / "scan"


def test_scan_with_report_option_writes_the_page(tmp_path):
    (tmp_path / "jobs" / "j1").mkdir(parents=True)
    (tmp_path / "jobs" / "j1" / "a.log").write_text(OOM)
    result = call("scan", tmp_path / "jobs", "-w", "1", "--report", tmp_path / "f.html", "--lang", "en")
    assert "cuda.oom" in result.stdout
    assert "1 of 1 job failed" in parse((tmp_path / "f.html").read_text("utf-8")).text


def test_fleet_command_writes_the_page_of_earlier_scans(results, tmp_path):
    call("fleet", results, "-o", tmp_path / "f.html", "--lang", "en")
    assert (tmp_path / "f.html").read_text("utf-8") == render_page(
        count_records(sorted(FULL, key=lambda r: r.job), None)
    )


def test_job_in_two_scans_counts_once_with_the_later_record(results, tmp_path):
    later = CheckpointWriter(tmp_path / "later")
    later.add(replace(FULL[0], verdict="finished", signature="finished"))
    later.close()
    call("fleet", results, tmp_path / "later", "-o", tmp_path / "f.html", "--lang", "en")
    assert "9 of 71 jobs failed" in parse((tmp_path / "f.html").read_text("utf-8")).text


def test_since_selects_jobs_by_their_end(results, tmp_path):
    call("fleet", results, "-o", tmp_path / "f.html", "--lang", "en", "--since", "2026-11-08T00:00+00:00")
    assert "3 of 3 jobs failed" in parse((tmp_path / "f.html").read_text("utf-8")).text


@pytest.mark.parametrize("wrong", [("--by", "year"), ("--new-since", "soon"), ("--lang", "tlh")])
def test_wrong_options_are_wrong_usage(results, wrong):
    call("fleet", results, *wrong, code=2)


def test_output_in_a_missing_folder_ends_with_3(results):
    assert "no such folder" in call("fleet", results, "-o", "no/where/f.html", code=3).output


def test_output_of_a_scan_that_cannot_be_written_is_reported_before_it_begins(tmp_path):
    (tmp_path / "a.log").write_text(OOM)
    result = call("scan", tmp_path, "-o", tmp_path / "out", "--report", "no/where/f.html", code=3)
    assert not (tmp_path / "out").exists()
    assert "no such folder" in result.output


def test_folder_without_results_gives_an_error(tmp_path):
    assert "there are no results of a scan" in call("fleet", tmp_path, "-o", tmp_path / "f.html", code=3).output

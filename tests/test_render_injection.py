"""Hostile texts in logs and file names. The output has the same markup as for harmless words."""

from __future__ import annotations

import re
from functools import cache, lru_cache

import pytest
from hostile_texts import HOSTILE
from markdown_it import MarkdownIt
from msgspec import Struct
from msgspec.structs import asdict, replace
from page_parts import OUR_ATTRIBUTES, OUR_TAGS, own_code, parse
from render_diagnoses import ALL, OOM, THOUSAND, TWO_CAUSES, UNKNOWN, make_evidence

from logdoctor.model import CollectiveState, Decision, MadeBy, Moment, RankRow
from logdoctor.render import render

HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
CHOICES = {"verdict", "by", "action", "role", "kind", "who"}
"""Fields that hold our own keywords."""
PLAIN = "plain"
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])

AROUND = replace(OOM.causes[0].evidence[0], around=(make_evidence("a:1", "x").line, make_evidence("a:2", "y").line))
ROWS = (
    RankRow(
        0, "culprit", "h", 0, 1, 0, "b", "step 1", "f", AROUND, "w", "", "", Moment("a", 1, 5.0), Moment("a", 2, 9.0)
    ),
    RankRow(1, "victim", "h", 1, 2, 1, "b", "step 1", "f", AROUND, "w", "n", "b", Moment("a", 1, 5.0)),
    RankRow(2, "silent", "g", 1, 2, 1, "b", "step 1", "", None, "", "n", "b", None, Moment("a", 1, 5.0)),
)
FULL = replace(
    OOM,
    causes=(replace(OOM.causes[0], evidence=(AROUND, AROUND)), *TWO_CAUSES.causes[1:]),
    unexplained=UNKNOWN.unexplained,
    problems=UNKNOWN.problems,
    runs=UNKNOWN.runs,
    decision=Decision("requeue-without-host", "s", ("h",), collect=UNKNOWN.decision.collect, because="r"),
    made_by=MadeBy("1", 2, "d"),
    job=replace(
        OOM.job,
        rank_table=ROWS,
        environment=(("NAME", "value"),),
        versions_apart=(("torch", "2", (1,)),),
        standings=(
            CollectiveState("g", 0, 3, "ALLREDUCE", 4, 2, Moment("a", 1)),
            CollectiveState("g", 1, None, "", 2, 2),
        ),
    ),
)
JOBS = (FULL, replace(FULL, verdict="unknown", causes=()))


def everywhere(part, text):
    """Replace every text from outside in ``part`` by ``text``."""
    if isinstance(part, str):
        return text
    if isinstance(part, tuple):
        return tuple(everywhere(item, text) for item in part)
    if isinstance(part, Struct):
        return replace(
            part, **{name: everywhere(value, text) for name, value in asdict(part).items() if name not in CHOICES}
        )
    return part


@cache
def renderings(format):
    """Return each hostile text, the output with it in every field, and the output with a harmless word."""
    plain = [render(everywhere(job, PLAIN), format) for job in JOBS]
    return [
        (hostile, render(everywhere(job, hostile), format), harmless)
        for text in HOSTILE
        for hostile, harmless, job in zip((text, f"at {text} end"), plain, JOBS, strict=True)
    ]


compared = lru_cache(8)
"""Keeps the results for the two harmless outputs, because each hostile output is compared with one of them."""
read_page = compared(parse)


def shape(tags):
    return [tag for tag in tags if tag != "code"]  # a rule may mark code by backticks


def test_there_are_enough_hostile_texts():
    assert len(HOSTILE) >= 200


@pytest.mark.parametrize("format", ["html", "markdown", "jira", "text", "json"])
def test_hidden_characters_reach_no_output(format):
    for hostile, output, _ in renderings(format):
        assert not HIDDEN.search(output), hostile


def test_hostile_text_adds_no_tags_attributes_links_or_code_to_a_page():
    for hostile, output, harmless in renderings("html"):
        page, expected = read_page(output), read_page(harmless)
        assert shape(page.order) == shape(expected.order), hostile
        assert page.tags <= OUR_TAGS, hostile
        assert page.attributes <= OUR_ATTRIBUTES, hostile
        assert page.links == expected.links, hostile
        assert page.ids == expected.ids, hostile
        assert own_code(output) == own_code(harmless), hostile


def test_hostile_text_adds_no_markdown_markup():
    @compared
    def tags_and_links(text):
        page = parse(MARKDOWN.render(text))
        return shape(page.order), page.links

    for hostile, output, harmless in renderings("markdown"):
        assert tags_and_links(output) == tags_and_links(harmless), hostile


def test_hostile_text_adds_no_jira_markup():
    @compared
    def marks(text):
        text, blocks = re.subn(r"\{noformat\}\n.*?\n\{noformat\}", "", text, flags=re.DOTALL)
        bare = re.sub(r"\\.|&#?\w+;", "x", text)
        assert not re.search(r"(?i)\{\s*noformat", bare)
        spans = re.sub(r"\{\{[^{}]*\}\}", "", bare)  # a rule may mark code by backticks
        starts = [line for line in bare.split("\n") if re.match(r"[#*|-]|h\d\.|bq\.", line)]
        return blocks, [spans.count(char) for char in "{}[]|!"], bare.count("\n"), len(starts)

    for hostile, output, harmless in renderings("jira"):
        assert marks(output) == marks(harmless), hostile


def test_a_log_line_in_a_page_is_there_as_text():
    for text in HOSTILE[:120]:
        if text.isprintable():
            assert text.strip() in parse(render(everywhere(FULL, text), "html")).text


@pytest.mark.parametrize("name", ALL)
def test_a_page_of_a_usual_job_is_small(name):
    size = len(render(ALL[name], "html").encode())
    assert size <= (150_000 if ALL[name] is not THOUSAND else 400_000)


def test_huge_diagnosis_gives_a_page_with_a_note_about_cuts():
    huge = everywhere(FULL, "<&>" * 700)  # as long as a line that is kept can be
    job_summary = replace(
        huge.job,
        rank_table=tuple(replace(huge.job.rank_table[0], rank=n, host=f"{n}" * 900) for n in range(1024)),
        standings=tuple(CollectiveState("0", n, n % 50, "x" * 5000, n % 70, n % 40) for n in range(1024)),
        environment=(("n" * 3000, "v" * 3000),) * 256,
    )
    huge = replace(huge, job=job_summary, unexplained=huge.unexplained * 100, symptoms=huge.symptoms * 100)
    output = render(huge, "html")
    assert len(output.encode()) <= 1_500_000
    assert "were shortened" in parse(output).text
    assert "were shortened" not in parse(render(FULL, "html")).text

"""No text of a log or a file name acts where a report is shown: the shape of every output is that of harmless words."""

from __future__ import annotations

import re

import pytest
from hostile_texts import HOSTILE
from markdown_it import MarkdownIt
from msgspec import Struct
from msgspec.structs import asdict, replace
from page_parts import OUR_ATTRIBUTES, OUR_TAGS, own_code, parse
from render_diagnoses import ALL, OOM, THOUSAND, TWO_CAUSES, UNKNOWN, seen

from logdoctor.model import Decision, MadeBy, Moment, RankRow, Standing
from logdoctor.render import render

HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
CHOICES = {"verdict", "by", "action", "role", "kind"}
"""Fields that hold one of our own words."""
PLAIN = "plain"
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])

AROUND = replace(OOM.causes[0].evidence[0], around=(seen("a:1", "x").line, seen("a:2", "y").line))
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
    advice=UNKNOWN.advice,
    problems=UNKNOWN.problems,
    runs=UNKNOWN.runs,
    decision=Decision("exclude", ("h",), "r", 2),
    made_by=MadeBy("1", 2, "d"),
    picture=replace(
        OOM.picture,
        rank_table=ROWS,
        environment=(("NAME", "value"),),
        versions_apart=(("torch", "2", (1,)),),
        standings=(Standing("g", 0, 3, "ALLREDUCE", 4, 2, Moment("a", 1)), Standing("g", 1, None, "", 2, 2)),
    ),
)
JOBS = (FULL, replace(FULL, verdict="unknown", causes=()))


def everywhere(part, text):
    """``part`` with ``text`` in place of every text that comes from outside."""
    if isinstance(part, str):
        return text
    if isinstance(part, tuple):
        return tuple(everywhere(one, text) for one in part)
    if isinstance(part, Struct):
        return replace(
            part, **{name: everywhere(value, text) for name, value in asdict(part).items() if name not in CHOICES}
        )
    return part


def renderings(format):
    """Each hostile text alone, and in the middle of a line, in every field of a diagnosis; with what is harmless."""
    plain = [render(everywhere(job, PLAIN), format) for job in JOBS]
    for text in HOSTILE:
        for given, told, job in zip((text, f"at {text} end"), plain, JOBS, strict=True):
            yield given, render(everywhere(job, given), format), told


def shape(tags):
    return [tag for tag in tags if tag != "code"]  # a rule may mark code by backticks


def test_there_are_enough_hostile_texts():
    assert len(HOSTILE) >= 200


@pytest.mark.parametrize("format", ["html", "markdown", "jira", "terminal", "json"])
def test_nothing_unseen_reaches_an_output(format):
    for given, told, _ in renderings(format):
        assert not HIDDEN.search(told), given


def test_a_page_keeps_its_tags_its_attributes_its_links_and_its_own_code():
    for given, told, plain in renderings("html"):
        page, harmless = parse(told), parse(plain)
        assert shape(page.order) == shape(harmless.order), given
        assert page.tags <= OUR_TAGS, given
        assert page.attributes <= OUR_ATTRIBUTES, given
        assert page.links == harmless.links, given
        assert page.ids == harmless.ids, given
        assert own_code(told) == own_code(plain), given


def test_markdown_stays_the_markup_that_it_was():
    def told_tags(text):
        page = parse(MARKDOWN.render(text))
        return shape(page.order), page.links

    for given, told, plain in renderings("markdown"):
        assert told_tags(told) == told_tags(plain), given


def test_wiki_markup_of_jira_stays_what_it_was():
    def marks(text):
        text, blocks = re.subn(r"\{noformat\}\n.*?\n\{noformat\}", "", text, flags=re.DOTALL)
        bare = re.sub(r"\\.|&#?\w+;", "x", text)
        assert not re.search(r"(?i)\{\s*noformat", bare)
        spans = re.sub(r"\{\{[^{}]*\}\}", "", bare)  # a rule may mark code by backticks
        starts = [line for line in bare.split("\n") if re.match(r"[#*|-]|h\d\.|bq\.", line)]
        return blocks, [spans.count(char) for char in "{}[]|!"], bare.count("\n"), len(starts)

    for given, told, plain in renderings("jira"):
        assert marks(told) == marks(plain), given


def test_a_log_line_in_a_page_is_there_as_text():
    for text in HOSTILE[:120]:
        if text.isprintable():
            assert text.strip() in parse(render(everywhere(FULL, text), "html")).text


@pytest.mark.parametrize("name", ALL)
def test_a_page_of_a_usual_job_is_small(name):
    size = len(render(ALL[name], "html").encode())
    assert size <= (150_000 if ALL[name] is not THOUSAND else 400_000)


def test_a_page_is_never_larger_than_a_ticket_takes_and_says_what_was_cut():
    huge = everywhere(FULL, "<&>" * 700)  # as long as a line that is kept can be
    picture = replace(
        huge.picture,
        rank_table=tuple(replace(huge.picture.rank_table[0], rank=n, host=f"{n}" * 900) for n in range(1024)),
        standings=tuple(Standing("0", n, n % 50, "x" * 5000, n % 70, n % 40) for n in range(1024)),
        environment=(("n" * 3000, "v" * 3000),) * 256,
    )
    huge = replace(huge, picture=picture, unexplained=huge.unexplained * 100, symptoms=huge.symptoms * 100)
    told = render(huge, "html")
    assert len(told.encode()) <= 1_500_000
    assert "were shortened" in parse(told).text
    assert "were shortened" not in parse(render(FULL, "html")).text

"""Markdown and HTML. Text of a log never becomes markup."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from effort import inputs
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from page_parts import OUR_ATTRIBUTES, OUR_TAGS, own_code, parse
from render_diagnoses import ALL, OOM, make_evidence
from render_strategies import MARKUP, diagnoses

from logdoctor.render import render
from logdoctor.render.formats.markdown import MARKUP as MARKDOWN
from logdoctor.render.formats.markdown import block, cell, code, escape_markup

some = inputs(15, nightly=300)


@some
@given(diagnosis=diagnoses)
def test_a_page_has_our_tags_only_and_closes_them(diagnosis):
    page = parse(render(diagnosis, "html"))
    assert page.tags <= OUR_TAGS
    assert page.attributes <= OUR_ATTRIBUTES
    assert all(link.startswith(("https://", "http://", "#")) for link in page.links)


@pytest.mark.parametrize("name", ALL)
def test_a_page_holds_every_line_of_proof_as_printed(name):
    text = parse(render(ALL[name], "html")).text
    for cause in ALL[name].causes[:1]:
        assert all(item.line.text.strip() in text for item in cause.evidence)


def test_a_page_allows_its_own_style_and_script_and_nothing_else():
    page = render(OOM, "html")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    digest = {tag: b64encode(sha256(text.encode()).digest()).decode() for tag, text in own_code(page)}
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest['style']}'; script-src 'sha256-{digest['script']}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_all_pages_share_one_style_and_one_script():
    assert [tag for tag, _ in own_code(render(OOM, "html"))] == ["style", "script"]
    assert {own_code(render(diagnosis, "html", lang=lang)) for diagnosis in ALL.values() for lang in ("en", "zh")} == {
        own_code(render(OOM, "html"))
    }


def test_a_reference_that_is_no_web_address_is_no_link():
    cause = replace(OOM.causes[0], references=("javascript:alert(1)", "https://example.org/a?b=1"))
    page = render(replace(OOM, causes=(cause,)), "html")
    assert [item for item in parse(page).links if item[0] != "#"] == ["https://example.org/a?b=1"]
    assert "<javascript" not in render(replace(OOM, causes=(cause,)), "markdown")


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_a_sentence_is_escaped(text):
    output = escape_markup(text)
    assert not re.search(r"(?<!\\)[`|$\[]|<", output)
    assert not re.match(r"#|\d+\. ", output)


def test_names_with_underscores_stay_readable():
    assert escape_markup("NCCL_DEBUG of num_workers") == "NCCL_DEBUG of num_workers"


@given(st.text("`a |", min_size=1, max_size=12))
def test_a_code_span_holds_whatever_backticks_there_are(text):
    ticks = re.match("`+", code(text))[0]
    inside = code(text)[len(ticks) : -len(ticks)]
    assert ticks not in re.findall("`+", inside)
    assert text in inside
    assert not re.search(r"(?<!\\)\|", cell(text))


def test_a_fence_is_longer_than_any_fence_in_the_line():
    assert block("```` x").startswith("\n`````text\n")


def test_backticks_of_a_rule_stay_code():
    assert MARKDOWN.prose("run `a|b` <now>") == "run `a|b` &lt;now&gt;"


def test_a_very_long_line_is_shortened_in_a_ticket():
    cause = replace(OOM.causes[0], evidence=(make_evidence("a.log:1", "x" * 1000 + " Error: " + "y" * 1000),))
    output = render(replace(OOM, causes=(cause,)), "markdown")
    assert "Error:" in output
    assert "x" * 700 not in output

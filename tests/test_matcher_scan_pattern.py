"""Scan forms match wherever their pattern matches, in every engine."""

from __future__ import annotations

import json

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logdoctor.matcher import Matcher, Pattern, make_plan
from logdoctor.matcher.scan_pattern import scan_form

REALISTIC = [
    (r"^\s*(?P<head>Traceback) \(most recent call last\):$", "  Traceback (most recent call last):"),
    (r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)$', '  File "/opt/a b/run.py", line 31, in main'),
    (r"(?P<op>All\w+|Reduce\w*) timed out after (?P<ms>\d+)\s*ms", "rank 3: AllGather timed out after 1800 ms"),
    (r"(?i)\b(?:cuda )?out of memory\b", "RuntimeError: CUDA OUT OF MEMORY"),
    (r"(?<!no )errors? in (?P<q>['\"])(?P<what>.*?)(?P=q)", "3 errors in 'net.c'"),
    (r"exit(?:ed)? with (?:code|status)\s*[:=]?\s*(?P<code>-?\d{1,3})\b", "worker exited with status: -9"),
    (r"loss=(?P<loss>nan|inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?)", "step 4 loss=1.5e-3 lr=2"),
    (r"\[rank(?P<rank>\d+)\]:\[[WE]\S* [^\]]*\] (?P<text>Watchdog .*)", "[rank7]:[E5 a.cpp:3] Watchdog woke up"),
    (r"(?:█|#)+\s*\d+% done", "progress ███  41% done"),
    (r"(?>peer|host) (?P<peer>\S++) hung up", "peer 10.1.2.3<4> hung up"),
    (r"Chunk \S{1,40}? of .{0,20} is corrupt(?:ed)?(?: \(.*\))?", "Chunk 0x3f of shard 9 is corrupted (crc)"),
    (r"^(?!.*benign)\tat (?P<frame>[\w.$]+)\((?P<src>[^)]*)\)", "\tat org.acme.Run.main(Run.java:5)"),
    ("表达式错误[::] .*", "表达式错误: 3"),
]


@pytest.mark.parametrize(("pattern", "line"), REALISTIC)
def test_a_scan_form_finds_what_its_pattern_finds(pattern: str, line: str) -> None:
    assert regex.search(pattern, line)
    assert regex.search(scan_form(pattern).encode(), line.encode())


@pytest.mark.parametrize(("pattern", "line"), REALISTIC)
@pytest.mark.parametrize("escaping", ["all", "needed"])
def test_a_scan_form_finds_the_line_inside_a_json_string_too(pattern: str, line: str, escaping: str) -> None:
    inside = json.dumps({"log": line + "\n"}, ensure_ascii=escaping == "all")
    twice = json.dumps({"message": inside}, ensure_ascii=escaping == "all")
    form = regex.compile(scan_form(pattern).encode())
    assert form.search(inside.encode())
    assert form.search(twice.encode())


@pytest.mark.parametrize("engine", ["hyperscan", "re2", "regex"])
def test_every_engine_takes_the_forms_and_agrees(engine: str) -> None:
    matcher = Matcher.load(make_plan([Pattern.of_form(scan_form(p)) for p, _ in REALISTIC]), None, engine)
    for number, (_, line) in enumerate(REALISTIC):
        assert number in matcher.match(line.encode())
        assert matcher.match(b"nothing of note here, step 3 of 9") == ()


@pytest.mark.parametrize("pattern", [r"\d+", r".*", r"[A-Z]+: \d+", r"^(?:ERROR)?", "ab", r"(?:error|e)", r"( |\t){9}"])
def test_a_form_without_three_literal_characters_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="fewer than 3 literal"):
        scan_form(pattern)


@pytest.mark.parametrize("pattern", ["(open", r"a{2,1}bcd", r"\p{Lu}nknown error", "(?|abc|def)"])
def test_unreadable_pattern_is_refused_and_named_in_the_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="scan form") as error:
        scan_form(pattern)
    assert repr(pattern) in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        (r"^.*?\s*fatal: (?P<what>[a-z]+)\b.*$", "fatal: [a-z]"),
        (r"(?:\[\d+\])?\s+lost peer(?: again)?", r"[\t\x0b-\x0c ]lost peer"),
        (r"took \d{4}ms+", "took "),
        (r"failed (?:.*|at [a-z]+ \d+)", "failed "),
    ],
)
def test_optional_edges_are_cut(pattern: str, form: str) -> None:
    assert scan_form(pattern).replace(r"(?:[\t\x0b-\x0c ]|\\+[nrt])", r"[\t\x0b-\x0c ]") == form


WORDS = st.sampled_from(["rank", "Error: ", "a.b", "(x)", 'say "no"', "tab\tbed", "C:\\tmp", "naïve", "█ bar", "100%"])
ATOMS = st.one_of(
    WORDS.map(regex.escape),
    st.sampled_from(
        [r"\d", r"\w", r"\S", ".", "[a-f0-9]", r"[^,;]", r"[^\s:]", "['\"]", r"\s", r"(?:ab|cd?|e*)", "[é-ü]"]
    ),
)
QUANTIFIERS = st.sampled_from(["", "", "", "+", "*", "?", "{2}", "{1,3}", "{0,40}", "+?", "*?", "{3,}"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    def piece() -> str:
        atom, quantifier = draw(ATOMS), draw(QUANTIFIERS)
        return f"(?:{atom}){quantifier}" if quantifier else atom

    parts = [piece() for _ in range(draw(st.integers(1, 4)))]
    parts.insert(draw(st.integers(0, len(parts))), regex.escape(draw(WORDS)))
    frame = draw(
        st.sampled_from(["{}", "^{}", "{}$", "(?P<n>{})", "(?i){}", r"(?<!q){}", r"{}(?!q)", r"\b{}", "(?:{}|or this)"])
    )
    return frame.replace("{}", "".join(parts))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data(), patterns())
def test_scan_form_finds_every_line_of_any_pattern(data: st.DataObject, pattern: str) -> None:
    try:
        form = scan_form(pattern)
    except ValueError:
        return
    text = data.draw(
        st.from_regex(pattern.replace("$", r"\Z"), alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]))
    )
    margin = data.draw(st.text("q :x", max_size=3))
    line = (margin + text).replace("\n", " ").replace("\r", " ")
    line = "".join("7" if (c > "\x7f" and (c.isdecimal() or c.isspace())) or "\x1b" < c < " " else c for c in line)
    if regex.search(pattern, line):
        assert regex.search(form.encode(), line.encode())

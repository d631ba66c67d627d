"""Rendering: laws over all formats, and snapshots of handmade diagnoses."""

import json
import os
import re
import string
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from effort import inputs
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from render_diagnoses import ALL, FINISHED, NO_END, NOTHING, OOM, THOUSAND, TWO_CAUSES, UNKNOWN
from render_strategies import diagnoses

from logdoctor.model import LogdoctorError, Problem, Verdict
from logdoctor.render import FORMATS, languages, render, to_ascii
from logdoctor.render.catalogue import catalogue
from logdoctor.render.columns import text_width

SNAPSHOTS = Path(__file__).parent / "snapshots"
WORDS = Path(__file__).parents[1] / "logdoctor" / "render" / "words"
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
OUR_COLOR = re.compile("\x1b\\[(?:0|1|2|36|1;3[123])m")
COMPOSED = tuple(
    "by. claim. refuted. do. decide. because. collect. action. verdict. run. grid. diff. owner. why. suspect.".split()
)
"""Beginnings of words that are composed, such as the word of a decision."""
some = inputs(15, nightly=300)


def snapshots():
    for name, diagnosis in ALL.items():
        yield f"{name}.txt", diagnosis, "terminal", {"elapsed": 0.138}
        yield f"{name}.md", diagnosis, "markdown", {}
        yield f"{name}.jira", diagnosis, "jira", {}
    yield "unknown-40-columns.txt", UNKNOWN, "terminal", {"width": 40}
    yield "two-causes.zh.txt", TWO_CAUSES, "terminal", {"lang": "zh"}


@pytest.mark.parametrize(
    ("name", "diagnosis", "format", "how"), list(snapshots()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_report_equals_its_snapshot(name, diagnosis, format, how):
    path, output = SNAPSHOTS / name, render(diagnosis, format, **how)
    if os.environ.get("LOGDOCTOR_APPROVE"):
        path.write_text(output, encoding="utf-8")
    assert output == path.read_text(encoding="utf-8"), "LOGDOCTOR_APPROVE=1 pytest takes this as the approved text"


def test_every_snapshot_on_disk_is_still_made():
    assert {path.name for path in SNAPSHOTS.iterdir()} == {name for name, *_ in snapshots()}


# ── laws over all formats ───────────────────────────────────────────────────────────────────────────────────────────


def test_unknown_format_is_refused_with_a_list_of_formats():
    with pytest.raises(LogdoctorError, match="pdf") as refused:
        render(OOM, "pdf")
    assert "markdown" in refused.value.help


@pytest.mark.parametrize("format", sorted(FORMATS))
@some
@given(
    diagnosis=diagnoses, width=st.sampled_from((1, 40, 77, 200)), lang=st.sampled_from(languages()), quiet=st.booleans()
)
def test_any_diagnosis_renders_without_control_characters(format, diagnosis, width, lang, quiet):
    output = render(diagnosis, format, width=width, lang=lang, quiet=quiet)
    assert not HIDDEN.search(output)
    assert output.endswith("\n")
    output.encode("utf-8")


@some
@given(diagnosis=diagnoses)
def test_coloured_report_has_only_our_escape_sequences(diagnosis):
    assert not HIDDEN.search(OUR_COLOR.sub("", render(diagnosis, "terminal", color=True)))


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"terminal"}))
def test_elapsed_time_changes_only_the_terminal_format(format):
    assert render(OOM, format, elapsed=3.25) == render(OOM, format)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_every_format_names_the_answer_its_proof_and_its_remedy(format):
    output = render(OOM, format, width=200).replace("\\-", "-")  # wiki markup would take it for a strike
    assert all(part in output for part in ("host.oom-kill", "Detected 1 oom_kill event", "sacct -j 71920"))


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lang", languages())
def test_all_languages_have_the_same_words_with_the_same_places(lang):
    def places(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    english, other = (json.loads((WORDS / f"{name}.json").read_text(encoding="utf-8")) for name in ("en", lang))
    assert {key: places(text) for key, text in other.items()} == {key: places(text) for key, text in english.items()}


def test_every_word_is_used_somewhere():
    sources = "".join(
        path.read_text(encoding="utf-8") for path in WORDS.parents[1].rglob("*") if path.suffix in {".py", ".j2"}
    )
    quoted = set(re.findall(r"""["']([a-z1.-]+)["']""", sources))
    words = json.loads((WORDS / "en.json").read_text(encoding="utf-8"))
    composed = {key for key in words if key.startswith(COMPOSED)}
    assert {key for key in words if not {key, re.sub(r"\.[1n]$", "", key)} & quoted} <= composed


def test_unknown_language_falls_back_to_english():
    assert catalogue("tlh").lang == "en"
    assert catalogue("zh_CN.UTF-8").lang == catalogue("zh-Hans").lang == "zh"


# ── terminal ────────────────────────────────────────────────────────────────────────────────────────────────────────


@some
@given(diagnosis=diagnoses, width=st.sampled_from((40, 41, 60, 100, 160)), lang=st.sampled_from(languages()))
def test_no_line_is_wider_than_the_terminal(diagnosis, width, lang):
    assert max(map(text_width, render(diagnosis, "terminal", width=width, lang=lang).split("\n"))) <= width


def test_first_line_names_signature_title_and_culprit():
    assert render(OOM, "terminal", width=140).startswith(
        "✗ host.oom-kill — The kernel killed a training process for memory (rank 12 on tc-node07)"
    )


def test_quiet_report_is_a_single_line_with_answer_and_confidence():
    output = render(THOUSAND, "terminal", quiet=True, width=40)
    assert output.count("\n") == 1
    assert "collective.straggler" in output
    assert "0.91" in output


def test_finished_is_one_line():
    assert render(FINISHED, "terminal", width=120, elapsed=0.1).count("\n") == 1


def test_empty_log_is_reported_as_empty():
    assert "the log is empty" in render(NOTHING, "terminal", quiet=True)


@pytest.mark.parametrize("lang", languages())
def test_cut_log_names_the_last_sign_of_life_and_never_says_healthy(lang):
    output = render(NO_END, "terminal", lang=lang)
    assert "step 299/20000" in output
    assert "cut.log:299" in output


def test_every_verdict_has_its_mark():
    marks = {diagnosis.verdict: render(diagnosis, "terminal", quiet=True)[0] for diagnosis in ALL.values()}
    assert marks == {
        verdict: {"failed": "✗", "stopped": "■", "finished": "✓"}.get(verdict, "?") for verdict in get_args(Verdict)
    }


def test_finished_report_mentions_unread_input():
    output = render(replace(FINISHED, problems=(Problem("cannot be read", "b.log", "it is gone"),)), "terminal")
    assert "; not everything could be read." in " ".join(output.split())


def test_finished_job_with_survived_failure_names_its_location():
    output = render(replace(FINISHED, symptoms=OOM.symptoms[:1]), "terminal", quiet=True)
    assert "no failure" not in output
    assert "A collective ran out of time (slurm-71920.out:90420)" in output


def test_a_thousand_victims_take_one_row():
    output = render(THOUSAND, "terminal", width=120)
    assert "1,023 ranks" in output
    assert "0-511,513-1023" in output
    assert output.count("\n") < 40


def test_second_fault_stands_before_the_alternatives():
    output = render(TWO_CAUSES, "terminal")
    second, guess = output.index("host.disk-full"), output.index("net.ib-link-down")
    assert output.index("A second fault") < second < output.index("Other possibilities") < guess


def test_unknown_diagnosis_lists_visible_missing_and_needed_data():
    output = render(UNKNOWN, "terminal")
    places = [
        output.index(text) for text in ("What is visible", "Of 8 ranks only 6", "What to collect next", "Not read")
    ]
    assert places == sorted(places)


def test_colour_is_only_there_when_asked_for():
    assert "\x1b" not in render(OOM, "terminal")
    assert OUR_COLOR.sub("", render(OOM, "terminal", color=True)) == render(OOM, "terminal")


def test_a_command_is_coloured_to_its_end_where_it_is_wrapped():
    output = render(OOM, "terminal", color=True, width=60)
    code = "".join(re.findall("\x1b\\[36m(.*?)\x1b", output))
    assert "sacct-j71920--format=JobID,MaxRSS,MaxRSSNode,MaxRSSTask" in code.replace(" ", "")


def test_elapsed_seconds_are_shown_if_given():
    assert "in 0.14 s" in render(OOM, "terminal", elapsed=0.138)
    assert " s;" not in render(OOM, "terminal")


def test_to_ascii_replaces_all_our_marks():
    to_ascii(render(OOM, "terminal")).encode("ascii")


def test_a_terminal_report_needs_no_third_party_package():
    code = "import sys, logdoctor.render; print([m for m in ('jinja2', 'markupsafe', 'typer', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

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

from logdoctor.model import LogdoctorError, Problem, Step, Verdict
from logdoctor.model.answer import Redacted
from logdoctor.render import FORMATS, languages, render, to_ascii
from logdoctor.render.answer_document import document
from logdoctor.render.catalogue import catalogue
from logdoctor.render.columns import text_width
from logdoctor.render.formats.text import SCREEN

SNAPSHOTS = Path(__file__).parent / "snapshots"
WORDS = Path(__file__).parents[1] / "logdoctor" / "render" / "words"
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
OUR_COLOR = re.compile("\x1b\\[(?:0|1|2|36|1;3[123])m")
COMPOSED = tuple(
    "claim. refuted. head. decide. because. restart. collect. verdict. run. grid. diff. owner. why. suspect. ground. set-aside. fact. examined. look. gather.".split()
)
"""Beginnings of words that are composed, such as the word of a decision."""
some = inputs(15, nightly=300)


def snapshots():
    for name, diagnosis in ALL.items():
        yield f"{name}.txt", diagnosis, "text", {}
        yield f"{name}.all.txt", diagnosis, "text", {"everything": True}
        yield f"{name}.md", diagnosis, "markdown", {}
        yield f"{name}.jira", diagnosis, "jira", {}
    yield "unknown-40-columns.txt", UNKNOWN, "text", {"width": 40}
    yield "two-causes.zh.txt", TWO_CAUSES, "text", {"lang": "zh"}


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
    assert not HIDDEN.search(output.replace("\t", " ") if quiet else output)
    assert output.endswith("\n")
    output.encode("utf-8")


@some
@given(diagnosis=diagnoses)
def test_coloured_report_has_only_our_escape_sequences(diagnosis):
    assert not HIDDEN.search(OUR_COLOR.sub("", render(diagnosis, "text", color=True)))


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
    lines = render(diagnosis, "text", width=width, lang=lang).split("\n")
    wider = [line for line in lines if text_width(line) > width]
    assert all(line.lstrip().startswith("$ ") for line in wider), "only a command of one long word may be wider"


@some
@given(diagnosis=diagnoses, lang=st.sampled_from(languages()))
def test_first_screen_has_24_lines_at_most(diagnosis, lang):
    calm = replace(diagnosis, problems=(), redaction=Redacted())
    assert render(calm, "text", lang=lang).count("\n") <= SCREEN


@pytest.mark.parametrize("name", ALL)
def test_first_screen_has_the_decisive_line_and_the_first_step(name):
    screen, page = render(ALL[name], "text"), document(ALL[name], catalogue("en"))
    proof, steps = page.section("proof"), page.section("do")
    assert proof is None or proof.blocks[0].location[-24:] in screen
    assert steps is None or steps.blocks[0].text.split(":")[0][:40] in screen


def test_first_line_is_the_decision_and_what_happened():
    assert render(OOM, "text", width=140).startswith(
        "✗ RESUBMIT WITH MORE MEMORY — the kernel killed a training process for memory\n"
        "  host.oom-kill · rank 12 on tc-node07 · confidence 0.97\n"
    )


def test_less_certain_answer_is_called_probable():
    likely = replace(OOM, causes=(replace(OOM.causes[0], confidence=0.7),))
    assert " — probable cause: the kernel killed" in render(likely, "text", width=140)


def test_quiet_report_is_one_line_of_ten_columns():
    assert render(THOUSAND, "text", quiet=True).split("\t") == [
        THOUSAND.decision.do,
        "failed",
        "collective.straggler",
        "0.91",
        "512",
        "pod-d1-r04-n08",
        "-",
        "/lustre/scratch/teams/moe/runs/2025-03-04/moe-1024/logs/rank_0512/stdout.log:66120",
        "-",
        "one rank kept the others waiting\n",
    ]
    assert render(NOTHING, "text", quiet=True).startswith("investigate\tnothing-to-judge\t-\t-\t-\t-\t-\t-\t-\t")


def test_finished_is_two_lines():
    assert render(FINISHED, "text", width=120).count("\n") == 2


@pytest.mark.parametrize("lang", languages())
def test_cut_log_names_the_last_sign_of_life_and_never_says_healthy(lang):
    output = render(NO_END, "text", lang=lang)
    assert {"en": "step 299 of 20,000", "zh": "step 299/20,000"}[lang] in output
    assert "cut.log:299" in output


def test_every_verdict_has_its_mark():
    marks = {diagnosis.verdict: render(diagnosis, "text")[0] for diagnosis in ALL.values()}
    assert marks == {
        verdict: {"failed": "✗", "stopped": "■", "finished": "✓"}.get(verdict, "?") for verdict in get_args(Verdict)
    }


def test_finished_report_mentions_unread_input():
    output = render(replace(FINISHED, problems=(Problem("cannot be read", "b.log", "it is gone"),)), "text")
    assert "Not read\n  b.log: cannot be read: it is gone\n" in output


def test_finished_job_with_survived_failure_shows_its_line():
    output = render(replace(FINISHED, symptoms=OOM.symptoms[:1]), "text")
    assert "These errors did not stop the job\n" in output
    assert "slurm-71920.out:90420" in output


def test_a_thousand_victims_take_one_row():
    output = render(THOUSAND, "text", width=120, everything=True)
    assert "1,023 ranks" in output
    assert "0-511,513-1023" in output
    assert output.count("\n") < 60


def test_second_fault_is_named_on_the_first_screen_and_shown_before_the_alternatives():
    assert "Also: " in render(TWO_CAUSES, "text")
    output = render(TWO_CAUSES, "text", everything=True)
    places = [output.index(t) for t in ("A second fault: host.disk-full", "Could also be", "net.ib-link-down 0.05: ")]
    assert places == sorted(places)


def test_unknown_diagnosis_shows_proof_then_what_to_collect_then_what_was_not_read():
    output = render(UNKNOWN, "text")
    places = [output.index(text) for text in ("\nProof", "\nDo", "6 of 8 ranks", "\nNot read")]
    assert places == sorted(places)


def test_commands_are_lines_of_their_own_that_can_be_copied():
    step = Step("Requeue the job.", ("scontrol requeue 71920 " + "--comment=again " * 9,))
    output = render(replace(OOM, decision=replace(OOM.decision, steps=(step,))), "text", width=60)
    first = output.index("     $ scontrol requeue 71920 ")
    command = output[first:].split("\n  2. ")[0]
    assert all(line.endswith(" \\") for line in command.split("\n")[:-1])


def test_colour_is_only_there_when_asked_for():
    assert "\x1b" not in render(OOM, "text")
    assert OUR_COLOR.sub("", render(OOM, "text", color=True)) == render(OOM, "text")


def test_a_command_is_coloured_to_its_end_where_it_is_wrapped():
    output = render(OOM, "text", color=True, width=60)
    code = "".join(re.findall("\x1b\\[36m(.*?)\x1b", output))
    assert "sacct-j71920--format=JobID,MaxRSS,MaxRSSNode,MaxRSSTask" in code.replace(" ", "")


def test_to_ascii_replaces_all_our_marks():
    to_ascii(render(OOM, "text")).encode("ascii")


def test_a_terminal_report_needs_no_third_party_package():
    code = "import sys, logdoctor.render; print([m for m in ('jinja2', 'markupsafe', 'typer', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

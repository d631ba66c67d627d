"""Mends: steps that threads confirm, advice that does not help, and the steps of a site."""

from __future__ import annotations

import io
import json
from itertools import permutations

import pytest
from rule_texts import BOOK
from test_ruleset import GOOD, faults

from logdoctor import diagnose
from logdoctor.model import Confirmed, StepWords
from logdoctor.pack.version_ranges import is_between, satisfies
from logdoctor.reasoning.findings.wording import Circumstances, choose_steps
from logdoctor.render import render
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import read

NO_TOOLS = Circumstances({})
PLAIN, OTHER = StepWords(("Plain.",)), StepWords(("Check: other.",))
ONCE = StepWords(("Once.",), confirmed=Confirmed(1, ("o/r#1",), 2026))
OFTEN = StepWords(("Often.",), confirmed=Confirmed(9, ("o/r#2",), 2026))
EXACT = StepWords(("Exact.",), when=(("says", ("gid",)),), confirmed=Confirmed(1, ("o/r#3",), 2026))
MANUAL = StepWords(("Manual.",), when=(("says", ("gid",)),), confirmed=Confirmed(0, ("a manual",)))
FIRST = StepWords(("First.",), first=(("says", ("gid",)),))
LOG = b"Wed Jan  7 10:00:00 2026: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def told(steps, about=NO_TOOLS):
    return [step.do[0] for step in choose_steps(steps, {}, about)]


@pytest.mark.parametrize("steps", [*permutations((ONCE, OFTEN, EXACT))])
def test_confirmed_steps_stand_by_their_facts_then_by_their_threads_and_before_the_others(steps):
    about = Circumstances({}, said="the gid is wrong")
    assert told((PLAIN, *steps, OTHER), about) == ["Exact.", "Often.", "Once.", "Plain.", "Check: other."]
    assert told((PLAIN, *steps, OTHER, FIRST), about)[0] == "First."


def test_steps_that_no_thread_confirms_stay_in_written_order():
    assert told((OTHER, PLAIN)) == ["Check: other.", "Plain."]
    about = Circumstances({}, said="the gid is wrong")
    assert told((PLAIN, MANUAL, OTHER, ONCE), about) == ["Once.", "Plain.", "Manual.", "Check: other."]


@pytest.mark.parametrize(
    ("when", "about", "fits"),
    [
        (("says", ("GID", "roce")), Circumstances({}, said="no gid here"), True),
        (("says", ("gid",)), NO_TOOLS, False),
        (("is", ("NCCL_P2P_DISABLE=1",)), Circumstances({}, [("NCCL_P2P_DISABLE", "1")]), True),
        (("is", ("NCCL_P2P_DISABLE=1",)), Circumstances({}, [("NCCL_P2P_DISABLE", "0")]), False),
        (("version", ("nccl>=2.27,<2.28",)), Circumstances({}, versions={"nccl": "2.27.3+cuda12.9"}), True),
        (("version", ("nccl>=2.27,<2.28",)), Circumstances({}, versions={"nccl": "2.28.1"}), False),
        (("version", ("open-mpi<5",)), Circumstances({}, versions={"openmpi": "4.1.6"}), True),
        (("version", ("nccl>=2.27",)), Circumstances({}, versions={"nccl": "unknown"}), False),
        (("version", ("nccl>=2.27",)), NO_TOOLS, False),
    ],
)
def test_step_is_told_if_its_facts_hold(when, about, fits):
    assert told((PLAIN, StepWords(("Mend.",), when=(when,))), about) == ["Plain.", *(["Mend."] if fits else [])]


@pytest.mark.parametrize("suffix", ["", "+cu12", "+cuda12.4"])
def test_suffix_of_a_build_does_not_change_the_version(suffix):
    assert is_between(f"2.26.5{suffix}", "2.26.2", "2.26.5")
    assert satisfies(f"2.26.5{suffix}", "nccl<=2.26.5")


@pytest.mark.parametrize("version", ["2.26.1", "2.26.6", "2.26.2rc1", "", "unknown", "2.26.x"])
def test_version_outside_of_the_range_or_unreadable_is_not_in_it(version):
    assert not is_between(version, "2.26.2", "2.26.5")


@pytest.mark.parametrize(
    "step",
    [
        "{do: a, confirmed: 3}",
        "{do: a, confirmed: {threads: 3}}",
        "{do: a, confirmed: {threads: many, see: [o/r#1]}}",
        "{do: a, when: {version: nccl}}",
        "{do: a, when: {version: '???'}}",
    ],
)
def test_confirmation_or_version_that_is_not_understood_is_a_fault_with_its_line(tmp_path, step):
    (error,) = faults(tmp_path, GOOD.replace("remedy: ['ss -ltnp | grep {port}']", f"remedy: [{step}]"))
    assert "is not understood" in error or "names a package" in error


def test_number_of_threads_stands_on_the_screen_and_in_json(tmp_path):
    mend(tmp_path, "{of: cuda.oom, do: Halve the batch., confirmed: {threads: 7, see: [o/r#5], last: 2026}}")
    diagnosis = diagnose(io.BytesIO(LOG), rules=[tmp_path])
    assert "Halve the batch. (confirmed in 7 threads)" in render(diagnosis, "text")
    (step, *_) = json.loads(render(diagnosis, "json"))["causes"][0]["steps"]
    assert step == {"text": "Halve the batch.", "commands": [], "confirmed": 7}


def test_site_adds_steps_in_front_in_every_language(tmp_path):
    mend(tmp_path, "{of: cuda.oom, do: Ask our team., run: ticket new}")
    for lang in ("en", "zh"):
        first = diagnose(io.BytesIO(LOG), rules=[tmp_path], lang=lang).causes[0].steps[0]
        assert (first.text, first.commands) == ("Ask our team.", ("ticket new",))


def test_mend_of_no_rule_is_a_fault_with_its_file(tmp_path):
    mend(tmp_path, "{of: cuda.nothing, do: x}")
    (fault,) = read([shipped_rules(), tmp_path], BOOK.rules).faults
    assert (fault.where, "cuda.nothing" in fault.what) == (f"{tmp_path / 'mends.yaml'}:1", True)


def mend(site, row):
    (site / "mends.yaml").write_text(f"- {row}\n", "utf-8")

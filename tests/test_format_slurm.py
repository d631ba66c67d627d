from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs.host_lists import MAX_NAMES, expand_hosts, expand_numbers

RECORDS = (*records("slurm"), *records("batch"), *records("container"), *records("container_clients"), *records("ssh"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("gn[07-09,12],login2", ("gn07", "gn08", "gn09", "gn12", "login2")),
        ("rack[1-2]n[1-2]-ib", ("rack1n1-ib", "rack1n2-ib", "rack2n1-ib", "rack2n2-ib")),
        ("gn[9-11]", ("gn9", "gn10", "gn11")),
        ("", ()),
    ],
)
def test_host_lists_are_expanded_in_order(text, names):
    assert expand_hosts(text) == names


def test_huge_lists_are_cut():
    assert len(expand_hosts("n[0-99999999]")) == MAX_NAMES
    assert len(expand_hosts("n[1,1,1,1][1-5000]" * 3)) <= MAX_NAMES
    assert len(expand_numbers("0-99999999,3")) == MAX_NAMES


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("n1,[]-0:"), max_size=80))
def test_lists_of_any_form_are_read_without_error(text):
    assert len(expand_hosts(text)) <= MAX_NAMES
    assert len(expand_numbers(text)) <= MAX_NAMES


WORDS = st.sampled_from(
    [
        "srun: error: ",
        "slurmstepd: error: *** STEP ",
        "gn[1-",
        ": tasks 0-",
        "Exited with exit code",
        "pyxis: ",
        "=>> PBS: ",
        "TERM_",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=8))
def test_garbage_around_known_words_never_raises(parts):
    read(RECORDS, "".join(parts))


def test_lsf_with_several_hosts_gives_no_host():
    assert kinds(RECORDS, "Dispatched 2 Task(s) on Host(s) <gx07> <gx08>, Allocated 2 Slot(s)") == []

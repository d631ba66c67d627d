"""Laws of mechanism: failure classes, the table of what brings about what, and the four laws of place and time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from handmade_records import make_record
from rule_texts import BOOK, LICENCE, packed_words, rule_file

from logdoctor import diagnose
from logdoctor.model import Arrow, Because, Diagnosis, Line, Mechanism, Rule, Source, Symptom
from logdoctor.reasoning import Reasoner
from logdoctor.render.catalogue import catalogue
from logdoctor.ruleset.loading import read
from logdoctor.ruleset.tables import END_OF_LIFE, VERDICTS

CLASSES, ARROWS, SIGNATURES = BOOK.mechanism.classes, BOOK.mechanism.arrows, BOOK.signatures
MADE_BY_REASONING = {END_OF_LIFE, "gives up"}
"""Classes that no signature and no rule has."""
ELSEWHERE = ("peers", "group")


def rule(name: str, failure_class: str, role: str = "", because: Sequence[Because] = ()) -> Rule:
    """Return a rule for the kind ``k.NAME``."""
    role = role or ("symptom" if CLASSES[failure_class].side == "seen" else "cause")
    words = packed_words(name, "cause", "do")
    symptoms = (Symptom("s", kind=f"k.{name}"),)
    return Rule(
        name, name, "stop", role, "strong", words, symptoms, {"any": ["s"]}, {}, failure_class, because=tuple(because)
    )


def conclude(
    rules: Sequence[Rule], *lines: tuple[str, int | None], mechanism: Mechanism = BOOK.mechanism, hosts: str = ""
) -> Diagnosis:
    """Diagnose lines of (name of a rule, rank), each with a host of ``hosts``."""
    reasoner = Reasoner(rules, (), mechanism)
    for order, (name, rank) in enumerate(lines):
        host = f"node-{hosts[order]}" if hosts else None
        line = Line("job.log", order + 1, name)
        reasoner.observe(make_record(line, f"k.{name}", name, Source(rank=rank, host=host), "error", {}, order))
    return reasoner.conclude("job", catalogue("en"))


def causes(*args, **options) -> list[str]:
    return [cause.signature for cause in conclude(*args, **options).causes]


def pair(first: str, second: str) -> list[Rule]:
    """Return the rules ``a`` and ``b`` of two classes."""
    return [rule("a", first), rule("b", second)]


# ── the tables ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_signature_has_a_class_and_each_class_a_signature_or_rule():
    used = {s.failure_class for s in SIGNATURES.values() if s.id not in VERDICTS} | {
        r.failure_class for r in BOOK.rules if r.role != "benign"
    }
    assert used == CLASSES.keys() - MADE_BY_REASONING


def test_rule_does_not_repeat_its_signature_or_what_follows_from_it():
    needless = []
    for r in BOOK.rules:
        said = BOOK.documents[r.id].data
        if r.role == "benign":
            continue
        agreed = SIGNATURES[r.signature].failure_class
        follows = "symptom" if CLASSES[r.failure_class].side == "seen" else "cause"
        if "action" in said or said.get("failure_class") == agreed or said.get("role") == follows:
            needless.append(r.id)
    assert needless == []


def test_special_arrows_are_few_and_have_reasons():
    special = [because for r in BOOK.rules for because in r.because]
    assert len({r.id for r in BOOK.rules if r.because}) <= 40
    assert all(because.reason for because in special)


def test_no_arrow_of_the_table_stands_twice():
    keys = [(a.source, a.target, a.where) for a in ARROWS]
    assert len(set(keys)) == len(keys)


def test_only_the_end_of_a_life_leads_to_what_others_tell():
    assert {a.source for a in ARROWS if a.where == "launcher"} == {END_OF_LIFE}


TABLES = {
    "signatures.tsv": "site.licence\tsite\tretry\tfails\t-\tgone\n",
    "failure_classes.tsv": "fails\town\tprocess\tyes\t-\t-\n",
    "mechanism.tsv": "fails\tfails\tprocess\t5m\n",
}


@pytest.mark.parametrize(
    ("table", "row", "what"),
    [
        ("signatures.tsv", "site.door\tsite\tretry\tjams\t-\tshut", "failure class 'jams', which is none"),
        ("signatures.tsv", "site.door\tsite\tretry\t-\t-\tshut", "failure class '', which is none"),
        ("signatures.tsv", "site.door\tsite\tretry\tfails\tsite.gate\tshut", "kind of 'site.gate', which nothing has"),
        ("signatures.tsv", "site.door\tsite\tretry\tfails\tsite.door\tshut", "site.door is a kind of itself"),
        (
            "signatures.tsv",
            "site.door\tsite\tretry\tfails\t-\tshut\tsite.gate",
            "near 'site.gate', but not the other way",
        ),
        (
            "signatures.tsv",
            "site.door\tsite\tretry\tfails\t-\tshut\tsite.licence",
            "near 'site.licence', but not the other",
        ),
        ("signatures.tsv", "site.door\tsite\tretry\tshut", "the row is not understood"),
        ("failure_classes.tsv", "jams\tinside\tprocess\tyes\t-\t-", "the row is not understood"),
        ("mechanism.tsv", "fails\tjams\tprocess\t-", "no failure class 'jams'"),
        ("mechanism.tsv", "fails\tfails\tmoon\t-", "the row is not understood"),
        ("mechanism.tsv", "fails\tfails\tprocess\tsoon", "the row is not understood"),
    ],
)
def test_faulty_row_of_a_table_is_a_fault_with_its_line(table, row, what, tmp_path):
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text + (row + "\n" if name == table else ""))
    rule_file(tmp_path, "site.licence", LICENCE)
    (fault,) = read([tmp_path]).faults
    assert what in fault.what
    assert fault.where == f"{tmp_path}/{table}:2"


def test_rule_with_an_unknown_class_is_a_fault_with_its_line(tmp_path):
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text)
    rule_file(tmp_path, "site.licence", LICENCE, ("action", "failure_class: jams\naction"))
    (fault,) = read([tmp_path]).faults
    assert (fault.what, fault.where) == ("there is no failure class 'jams'", f"{tmp_path}/site/licence.yaml:3")


def test_row_of_a_later_folder_replaces_that_of_an_earlier_one(tmp_path):
    for folder, side in (("ours", "own"), ("theirs", "seen")):
        rule_file(tmp_path / folder, "site.licence", LICENCE)
        for name, text in TABLES.items():
            (tmp_path / folder / name).write_text(text.replace("own", side))
    assert read([tmp_path / "ours", tmp_path / "theirs"]).rule("site.licence").role == "symptom"


# ── law 1: the same process ─────────────────────────────────────────────────────────────────────────────────────────

INSIDE = [a for a in ARROWS if a.where == "process" and (a.target not in MADE_BY_REASONING)]


def name_of(arrow: Arrow) -> str:
    return f"{arrow.source} to {arrow.target} ({arrow.where})"


@pytest.mark.parametrize("arrow", INSIDE, ids=name_of)
def test_class_explains_in_its_process_what_the_table_says(arrow):
    assert causes(pair(arrow.source, arrow.target), ("a", 3), ("b", 3)) == ["a"]


@pytest.mark.parametrize("arrow", INSIDE, ids=name_of)
def test_class_explains_nothing_that_was_over_in_its_process(arrow):
    assert "b" in causes(pair(arrow.source, arrow.target), ("b", 3), ("a", 3))


# ── law 2: other processes ──────────────────────────────────────────────────────────────────────────────────────────

OWN = [name for name, c in CLASSES.items() if c.side == "own" and name != END_OF_LIFE]


@pytest.mark.parametrize("failure_class", [name for name in OWN if CLASSES[name].ends != "no" and name != "ordered"])
@pytest.mark.parametrize("seen", ["peer lost", "unreachable", "waits in vain", "end noticed"])
def test_end_of_a_process_explains_what_another_sees_of_it(failure_class, seen):
    assert causes(pair(failure_class, seen), ("b", 1), ("a", 3)) == ["a"]


@pytest.mark.parametrize("arrow", [a for a in ARROWS if a.where in ELSEWHERE and a.source != END_OF_LIFE], ids=name_of)
def test_class_explains_in_other_processes_what_the_table_says(arrow):
    assert causes(pair(arrow.source, arrow.target), ("a", 3), ("b", 1)) == ["a"]


@pytest.mark.parametrize("failure_class", ["program fails", "gpu memory out", "not set up", "process crashes"])
def test_own_failures_of_two_processes_are_independent(failure_class):
    assert len(causes(pair(failure_class, "program fails"), ("a", 3), ("b", 1))) == 2


# ── law 3: a shared place ───────────────────────────────────────────────────────────────────────────────────────────

SHARED = [a for a in ARROWS if a.where in ("host", "device") and CLASSES[a.target].side == "own"]


@pytest.mark.parametrize("arrow", SHARED, ids=name_of)
def test_failure_of_a_place_explains_failures_there(arrow):
    assert causes(pair(arrow.source, arrow.target), ("a", 3), ("b", 1), hosts="aa") == ["a"]


@pytest.mark.parametrize("arrow", SHARED, ids=name_of)
def test_failure_of_a_place_explains_nothing_in_another_place(arrow):
    assert len(causes(pair(arrow.source, arrow.target), ("a", 3), ("b", 1), hosts="ab")) == 2


# ── law 4: the inside outweighs the outside ─────────────────────────────────────────────────────────────────────────

SEEN = [name for name, c in CLASSES.items() if c.side == "seen" and name not in MADE_BY_REASONING]


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("ranks", [(3, 3), (1, 3)], ids=["same process", "other process"])
def test_what_is_seen_explains_no_own_failure(seen, ranks):
    exempt = {a.target for a in ARROWS if a.source == seen} | {"ordered"}
    for own in OWN:
        if own not in exempt:
            assert "b" in causes(pair(seen, own), ("a", ranks[0]), ("b", ranks[1])), own


def test_program_that_fails_before_an_order_to_end_is_no_consequence_of_it():
    assert causes(pair("told to end", "program fails"), ("b", 3), ("a", None)) == ["b"]
    assert causes(pair("told to end", "program fails"), ("a", None), ("b", 3)) == ["a"]


# ── two tellings of one thing ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_narrower_signature_wins_whatever_comes_first(order):
    mechanism = Mechanism(CLASSES, (), {"a": "between", "between": "b"})
    rules = pair("wrong values", "program fails")
    assert causes(rules, *((name, 3) for name in order), mechanism=mechanism) == ["a"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_because_wins_whatever_comes_first(order):
    rules = [rule("a", "wrong values", because=[Because("b", "two readings")]), rule("b", "gpu memory out")]
    assert causes(rules, *((name, 3) for name in order)) == ["a"]


# ── pairs that stand both ways: a log for each order ────────────────────────────────────────────────────────────────

TIMEOUT = (
    "[rank{rank}]:[E] [PG 0 Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
    "OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n"
)
CLOSED = "[rank{rank}]: RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.4.0.7]:31188\n"
ABORT = (
    "--------------------------------------------------------------------------\n"
    "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 4.\n"
    "--------------------------------------------------------------------------\n"
)
LIMIT = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2025-05-19T07:00:12 DUE TO TIME LIMIT ***\n"
KILLED = "bash: line 1:  4846 Killed                  RANK=3 python fit.py\n"
RAISED = (
    'Traceback (most recent call last):\n  File "/home/u/fit.py", line 9, in main\n    x = rows["zebra"]\n'
    "KeyError: 'zebra'\n"
)
TERMINATED = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2025-05-19T07:00:12 ***\n"


def answer(log: str, tmp_path: Path) -> str:
    (tmp_path / "job.log").write_text(log)
    return diagnose([str(tmp_path / "job.log")]).causes[0].signature


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (TIMEOUT.format(rank=1) + CLOSED.format(rank=2), "collective.timeout"),
        (CLOSED.format(rank=1) + TIMEOUT.format(rank=1), "net.peer-closed"),
        (RAISED + LIMIT, "app.exception"),
        (LIMIT + RAISED, "job.time-limit"),
        (RAISED + TERMINATED, "app.exception"),
        (TERMINATED + CLOSED.format(rank=1), "job.preempted"),
        (CLOSED.format(rank=1) + TERMINATED, "net.peer-closed"),
    ],
    ids=[
        "a rank gave up, then its peers lost it",
        "a rank lost a peer, then waited in vain",
        "the program failed, then the limit ended the job",
        "the limit ended the job, then the program failed",
        "the program failed, then the launcher ended the rest",
        "the order came, then connections broke",
        "connections broke, then the launcher ended the rest",
    ],
)
def test_pair_that_stands_both_ways_is_decided_by_time(log, expected, tmp_path):
    assert answer(log, tmp_path) == expected


# ── who may witness ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("late", [False, True])
def test_shell_that_saw_a_process_killed_outranks_peers_that_lost_it(late, tmp_path):
    """A launcher's or a shell's word about an end outranks each `closed by peer` of a victim (who may witness)."""
    log = CLOSED.format(rank=1) + KILLED if late else KILLED + CLOSED.format(rank=1)
    assert answer(log, tmp_path) == "host.oom-kill"


def test_abort_with_the_message_of_the_program_outranks_a_late_connection_reset(tmp_path):
    """MPI_Abort with the program's own message beats a late `connection reset`."""
    reset = "[n1][[7,1],0][btl_tcp_frag.c:242] mca_btl_tcp_frag_recv: readv failed: Connection reset by peer (104)\n"
    log = "[1,2]<stderr>:ERROR: checksum of block 7 differs\n" + ABORT + "[1,0]<stderr>:" + reset
    assert answer(log, tmp_path) in ("mpi.abort", "app.exception")


def test_first_failure_of_a_device_outranks_a_later_one_that_its_rule_holds_for_surer():
    """First in time is not overruled by a rule's weight for the same device."""
    rules = [rule("a", "device fails"), rule("b", "device fails")]
    weak = Rule(**{f: getattr(rules[0], f) for f in rules[0].__struct_fields__} | {"strength": "likely"})
    assert causes([weak, rules[1]], ("a", None), ("b", None)) == ["a"]

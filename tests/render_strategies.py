"""Hypothesis strategies for diagnoses with hostile texts."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from logdoctor.model import (
    CLAIMS,
    Cause,
    Change,
    Check,
    Checkpoint,
    CollectiveState,
    Coverage,
    Culprit,
    Decision,
    Diagnosis,
    Do,
    Evidence,
    FirstMover,
    HostClock,
    JobSummary,
    Line,
    MadeBy,
    Moment,
    Owner,
    Problem,
    ProcessGroup,
    Progress,
    RankRow,
    Redacted,
    Refutation,
    Run,
    Scope,
    Step,
    Suspect,
    SymptomSeen,
    Verdict,
    Who,
)

NASTY = (
    "\x1b]0;own\x07",
    "\x1b[2J",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\u200b",
    "\ufeff",
    "\r",
    "\n",
    "\t",
    "\x00",
    "\u2028",
    "\udc80",
)
MARKUP = (
    "<script>alert(1)</script>",
    "`",
    "``",
    "```",
    "|",
    "</pre>",
    "![x](http://a/b)",
    "&lt;",
    '"',
    "{{ 7*7 }}",
    "# ",
    "1. ",
    "$x$",
    "{title}",
)
WORDS = ("rank 3", "timeout", "错误，", "x" * 90, "🔥", "e\u0301", "gpu-01", " ")
texts = st.lists(st.sampled_from((*NASTY, *MARKUP, *WORDS)) | st.text(max_size=6), max_size=5).map("".join)
ranks = st.lists(st.integers(0, 4000), max_size=5).map(tuple)
many = st.lists(texts, max_size=2).map(tuple)
times = st.none() | st.floats()
maybe_text = st.none() | texts

lines = st.builds(Line, texts, st.integers(1, 10**9), texts)
evidence = st.builds(
    Evidence,
    lines,
    st.none() | st.integers(0, 4000),
    maybe_text,
    times,
    texts,
    st.lists(lines, max_size=3).map(tuple),
)
moment = st.none() | st.builds(Moment, texts, st.integers(1, 10**9), times)
evidences = st.lists(evidence, max_size=3).map(tuple)
first_movers = st.none() | st.builds(FirstMover, st.none() | st.integers(0, 4000), maybe_text, maybe_text)
culprits = st.builds(
    Culprit, ranks, many, many, many, ranks, ranks, scope=st.sampled_from(get_args(Scope)), first=first_movers
)
checks = st.builds(
    Check, st.sampled_from(CLAIMS), st.sampled_from(("confirmed", "not-shown", "contradicted")), evidences
)
checkpoints = st.none() | st.builds(Checkpoint, st.none() | st.integers(0, 10**6), texts, lines)
verdicts = st.sampled_from(get_args(Verdict))
progress = st.none() | st.builds(Progress, texts, texts, evidence, texts)
actions = st.sampled_from(("stop", "retry", "exclude", "none"))
causes = st.builds(
    Cause,
    signature=texts,
    title=texts,
    summary=texts,
    confidence=st.floats(0, 1),
    by=st.sampled_from(("rule", "classifier")),
    culprit=culprits,
    action=actions,
    steps=many.map(lambda texts: tuple(map(Step, texts))),
    references=many,
    evidence=evidences,
    explains=many,
    rule=texts,
    owner=st.builds(Owner, st.sampled_from(get_args(Who)), texts, texts, texts, texts),
    values=st.lists(st.tuples(texts, texts | st.integers()), max_size=2).map(tuple),
    checked=st.lists(checks, max_size=2).map(tuple),
    victims=st.integers(0, 4000),
)
refutations = st.none() | st.builds(Refutation, lines, texts)
symptoms = st.builds(SymptomSeen, texts, texts, maybe_text, ranks, st.integers(0, 10**6), evidences, refutations)
number = st.none() | st.integers(0, 4000)
rows = st.builds(
    RankRow,
    rank=st.integers(0, 4000),
    role=st.sampled_from(("culprit", "victim", "failed", "bystander", "silent", "missing")),
    host=maybe_text,
    local_rank=number,
    pid=number,
    gpu=number,
    bus_id=maybe_text,
    last_progress=texts,
    failure=texts,
    first_failure=st.none() | evidence,
    waits_for=texts,
    never_started=texts,
    busy_with=texts,
    progressed=moment,
    heard=moment,
)
number_of_work = st.none() | st.integers(-1, 10**6)
standings = st.builds(
    CollectiveState, texts, st.integers(0, 4000), number_of_work, texts, number_of_work, number_of_work, moment
)
pictures = st.builds(
    JobSummary,
    ranks_expected=st.none() | st.integers(0, 5000),
    ranks_seen=ranks,
    hosts=many,
    versions=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    launcher=maybe_text,
    first_failure=st.none() | evidence,
    first_death=st.none() | evidence,
    last_progress=progress,
    last_checkpoint=checkpoints,
    step_seconds=st.none() | st.floats(0, 1e6),
    attempts=st.integers(0, 9),
    truncated=st.booleans(),
    rank_table=st.lists(rows, max_size=4).map(tuple),
    groups=st.lists(st.builds(ProcessGroup, texts, number, ranks), max_size=2).map(tuple),
    nodes=number,
    ranks_per_node=number,
    versions_apart=st.lists(st.tuples(texts, texts, ranks), max_size=2).map(tuple),
    environment=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    standings=st.lists(standings, max_size=4).map(tuple),
    clocks=st.lists(st.builds(HostClock, texts, texts, st.floats(-1e6, 1e6), st.integers(2, 99)), max_size=2).map(
        tuple
    ),
    started=times,
    ended=times,
)
runs = st.builds(
    Run,
    kind=st.sampled_from(("job", "attempt")),
    verdict=verdicts,
    signature=maybe_text,
    title=texts,
    file=texts,
    first_line=st.integers(1, 10**9),
    last_line=st.none() | st.integers(1, 10**9),
    told=st.booleans(),
    evidence=evidences,
    culprit=culprits,
    last_progress=progress,
)
numbers = st.integers(0, 10**15)
diagnoses = st.builds(
    Diagnosis,
    name=texts,
    verdict=verdicts,
    causes=st.lists(causes, max_size=3).map(tuple),
    symptoms=st.lists(symptoms, max_size=3).map(tuple),
    unexplained=evidences,
    job=pictures,
    coverage=st.builds(Coverage, numbers, numbers, numbers, numbers),
    problems=st.lists(st.builds(Problem, texts, texts, texts, texts), max_size=2).map(tuple),
    runs=st.lists(runs, max_size=3).map(tuple),
    made_by=st.builds(MadeBy, texts, st.integers(0, 10**6), texts),
    verdict_known_by=st.none() | lines,
    suspects=st.lists(st.builds(Suspect, number, maybe_text, maybe_text, number), max_size=2).map(tuple),
    redaction=st.builds(Redacted, st.booleans(), st.integers(0, 9)),
    decision=st.builds(
        Decision,
        st.sampled_from(get_args(Do)),
        texts,
        texts,
        many,
        st.lists(st.builds(Step, texts, many), max_size=2).map(tuple),
        st.lists(st.builds(Change, texts, texts, texts), max_size=2).map(tuple),
        checkpoints,
        st.integers(0, 3),
        many,
        texts,
    ),
)

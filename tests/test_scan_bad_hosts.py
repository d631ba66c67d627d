"""Hosts that are culprit too often, in simulated fleets whose truth is known."""

from __future__ import annotations

import random

from logdoctor.scan.bad_hosts import lemons
from logdoctor.scan.record import JobRecord

HOSTS = [f"node{n:03}" for n in range(500)]


def fleet(
    seed: int, bad: int, *, times: float = 8.0, base: float = 0.01, jobs: int = 2000
) -> tuple[list[JobRecord], set[str]]:
    """2,000 jobs on 8 to 128 of 500 hosts; each host fails a job with a chance, a lemon with ``times`` that."""
    draw = random.Random(seed)
    sick = set(draw.sample(HOSTS, bad))
    records = []
    for n in range(jobs):
        nodes = draw.sample(HOSTS, draw.choice((8, 16, 32, 64, 128)))
        failed = [h for h in nodes if draw.random() < base * (times if h in sick else 1)][:1]
        records.append(
            JobRecord(
                f"job{n}",
                verdict="failure" if failed else "healthy",
                signature="cuda.ecc" if failed else "healthy",
                hosts=tuple(failed),
                nodes=tuple(sorted(nodes)),
            )
        )
    return records, sick


def test_planted_lemons_are_found_and_hardly_anybody_else_is_accused():
    found = wrong = planted = 0
    for seed in range(20):
        records, sick = fleet(seed, 3)
        accused = {lemon.name for lemon in lemons(records)}
        found, wrong, planted = found + len(accused & sick), wrong + len(accused - sick), planted + 3
    assert found >= 0.9 * planted, (found, planted)
    assert wrong <= 0.1 * 20, wrong


def test_in_healthy_fleets_nobody_is_accused():
    assert sum(bool(lemons(fleet(seed, 0)[0])) for seed in range(20)) <= 2


def test_who_takes_part_in_more_jobs_may_fail_more_often():
    records, _ = fleet(7, 0)
    busy = [JobRecord(f"b{n}", verdict="healthy", signature="healthy", nodes=("busy", "node001")) for n in range(400)]
    busy += [
        JobRecord(f"f{n}", verdict="failure", signature="cuda.ecc", nodes=("busy",), hosts=("busy",)) for n in range(4)
    ]
    assert "busy" not in {lemon.name for lemon in lemons(records + busy)}


def test_what_the_job_did_itself_is_laid_at_no_hosts_door():
    records, _ = fleet(7, 0)
    own = [
        JobRecord(f"a{n}", verdict="failure", signature="app.exception", nodes=("x",), hosts=("x",)) for n in range(20)
    ]
    assert "x" not in {lemon.name for lemon in lemons(records + own)}


def test_a_lemon_comes_with_its_counts_and_jobs():
    records, sick = fleet(3, 1, times=30)
    (lemon,) = lemons(records)
    assert {lemon.name} == sick
    assert lemon.failures == len(lemon.examples) == sum(count for _, count in lemon.signatures)
    assert lemon.jobs > lemon.failures > lemon.expected
    assert lemon.chance < 0.05

"""Bad hosts in simulated fleets, whose truth is known."""

from __future__ import annotations

import random

import pytest
from scipy.stats import poisson

from logdoctor.archive.bad_hosts import BadHost, HostCounter, poisson_tail
from logdoctor.archive.record import JobRecord

HOSTS = [f"node{n:03}" for n in range(500)]


def fleet(
    seed: int, bad_hosts: int, *, times: float = 8.0, base: float = 0.01, jobs: int = 2000
) -> tuple[list[JobRecord], set[str]]:
    """Make ``jobs`` jobs on 8 to 128 of 500 hosts and return them with the names of the bad hosts.

    Each healthy host fails a job with the probability ``base``, each bad host with ``times`` that.
    """
    draw = random.Random(seed)
    bad = set(draw.sample(HOSTS, bad_hosts))
    records = []
    for n in range(jobs):
        nodes = draw.sample(HOSTS, draw.choice((8, 16, 32, 64, 128)))
        failed = [h for h in nodes if draw.random() < base * (times if h in bad else 1)][:1]
        records.append(
            JobRecord(
                f"job{n}",
                verdict="failed" if failed else "finished",
                signature="cuda.ecc" if failed else "finished",
                hosts=tuple(failed),
                nodes=tuple(sorted(nodes)),
            )
        )
    return records, bad


def find_bad_hosts(records: list[JobRecord]) -> list[BadHost]:
    counter = HostCounter()
    for record in records:
        counter.add(record)
    return counter.bad_hosts()


def test_planted_bad_hosts_are_found_and_few_others():
    detected = wrong = planted = 0
    for seed in range(20):
        records, bad = fleet(seed, 3)
        accused = {host.name for host in find_bad_hosts(records)}
        detected, wrong, planted = detected + len(accused & bad), wrong + len(accused - bad), planted + 3
    assert detected >= 0.9 * planted, (detected, planted)
    assert wrong <= 0.1 * 20, wrong


def test_healthy_fleet_has_no_bad_host():
    assert sum(bool(find_bad_hosts(fleet(seed, 0)[0])) for seed in range(20)) <= 2


def test_host_with_more_jobs_may_fail_more_often():
    records, _ = fleet(7, 0)
    busy = [JobRecord(f"b{n}", verdict="finished", signature="finished", nodes=("busy", "node001")) for n in range(400)]
    busy += [
        JobRecord(f"f{n}", verdict="failed", signature="cuda.ecc", nodes=("busy",), hosts=("busy",)) for n in range(4)
    ]
    assert "busy" not in {host.name for host in find_bad_hosts(records + busy)}


def test_failures_of_the_job_itself_blame_no_host():
    records, _ = fleet(7, 0)
    own = [
        JobRecord(f"a{n}", verdict="failed", signature="app.exception", nodes=("x",), hosts=("x",)) for n in range(20)
    ]
    assert "x" not in {host.name for host in find_bad_hosts(records + own)}


def test_bad_host_has_counts_and_examples():
    records, bad = fleet(3, 1, times=30)
    (host,) = find_bad_hosts(records)
    assert {host.name} == bad
    assert host.failures == len(host.examples) == sum(count for _, count in host.signatures)
    assert host.jobs > host.failures > host.expected
    assert host.chance < 0.05


@pytest.mark.parametrize("mean", [1e-9, 0.01, 0.7, 3.0, 20.5, 400.0, 5000.0])
def test_chance_is_that_of_scipy(mean):
    counts = [1, 2, 3, 4, 7, 12, 20, 21, 30, 100, 399, 400, 401, 500, 2000, 5000, 5100]
    chances = [poisson_tail(count, mean) for count in counts]
    assert chances == pytest.approx([float(poisson.sf(count - 1, mean)) for count in counts], rel=1e-9, abs=1e-300)

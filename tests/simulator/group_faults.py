"""Faults of jobs whose ranks wait in groups smaller than the job."""

from __future__ import annotations

import dataclasses
import random

from simulator import course, torch_voice
from simulator.book import Book, Truth
from simulator.cluster import Rank
from simulator.faults import LOOP, MAIN
from simulator.groups import group_of
from simulator.torch_voice import Work

SLOWER = ("collective.straggler", "collective.timeout")


def _work(rng: random.Random, op: str) -> Work:
    return Work(rng.randrange(40, 90000), op, rng.randrange(1, 4000) * 4096)


def _wait_for(book: Book, rng: random.Random, late: Rank, begin: float, op: str, nearest: str) -> None:
    """Let all ranks wait for ``late``.

    Its ``nearest`` group waits in ``op``, the others in the reduction of gradients.
    """
    cluster = book.cluster
    nearest_group = group_of(cluster, late, nearest)
    first = dataclasses.replace(_work(rng, op), group=nearest_group)
    course.wait(book, rng, nearest_group.others(cluster, late), begin, first)
    seq = rng.randrange(40, 9000)
    numel = rng.randrange(8, 4000) * 4096
    excluded = {late.number, *nearest_group.members}
    waiting: dict[tuple[int, ...], list[Rank]] = {}
    for rank in cluster.ranks:
        if rank.number not in excluded:
            waiting.setdefault(group_of(cluster, rank, "data").members, []).append(rank)
    for ranks in waiting.values():
        group = group_of(cluster, ranks[0], "data")
        course.wait(book, rng, ranks, begin + rng.uniform(0.2, 2.0), Work(seq, "ALLREDUCE", numel, group))


def _late_without_reason(book: Book, rng: random.Random, op: str, nearest: str) -> Truth:
    at = course.train(book, rng, course.start(book))
    late = rng.choice(book.cluster.ranks)
    _wait_for(book, rng, late, at + course.WAIT, op, nearest)
    lines = torch_voice.dump_signal(book.cluster, at + course.WAIT + 2, late, book.cluster.ranks[late.number ^ 1], 3, 3)
    if lines:
        book.rank(at + course.WAIT + 2, late, *lines)
    return Truth(frozenset(SLOWER), frozenset({late.number}), frozenset({late.host}), culprit_visible=False)


def tensor_late(book: Book, rng: random.Random) -> Truth:
    """Keep a rank away from a collective of its tensor parallel group."""
    return _late_without_reason(book, rng, rng.choice(("ALLREDUCE", "_ALLGATHER_BASE")), "tensor")


def stage_late(book: Book, rng: random.Random) -> Truth:
    """Keep a pipeline stage from sending to the next."""
    return _late_without_reason(book, rng, rng.choice(("RECV", "SEND", "COALESCED")), "pipeline")


def _exception_without_end(book: Book, rng: random.Random, op: str, nearest: str) -> Truth:
    at = course.train(book, rng, course.start(book))
    rank = rng.choice(book.cluster.ranks)
    error = (
        "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton dimension 1"
    )
    book.rank(at, rank, *torch_voice.exception(rank, book.cluster, (MAIN, LOOP), error))
    _wait_for(book, rng, rank, at + course.WAIT, op, nearest)
    return Truth(frozenset({"app.exception"}), frozenset({rank.number}), frozenset({rank.host}))


def tensor_dies(book: Book, rng: random.Random) -> Truth:
    """Raise an exception on a rank of a tensor parallel group. The job is not ended."""
    return _exception_without_end(book, rng, "ALLREDUCE", "tensor")


def stage_dies(book: Book, rng: random.Random) -> Truth:
    """Raise an exception on a rank of a pipeline stage. The job is not ended."""
    return _exception_without_end(book, rng, rng.choice(("RECV", "SEND")), "pipeline")


FAULTS = {f.__name__: f for f in (tensor_late, stage_late, tensor_dies, stage_dies)}

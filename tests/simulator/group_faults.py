"""Faults of jobs in which ranks wait for each other in groups smaller than the job."""

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


def _stand(book: Book, rng: random.Random, late: Rank, begin: float, op: str, nearest: str) -> None:
    """All wait for ``late``: its ``nearest`` group in ``op``, all others for those in the gradients' reduction."""
    cluster = book.cluster
    near = group_of(cluster, late, nearest)
    first = dataclasses.replace(_work(rng, op), group=near)
    course.wait(book, rng, near.others(cluster, late), begin, first)
    seq = rng.randrange(40, 9000)
    numel = rng.randrange(8, 4000) * 4096
    held = {late.number, *near.members}
    waiting: dict[tuple[int, ...], list[Rank]] = {}
    for rank in cluster.ranks:
        if rank.number not in held:
            waiting.setdefault(group_of(cluster, rank, "data").members, []).append(rank)
    for there in waiting.values():
        group = group_of(cluster, there[0], "data")
        course.wait(book, rng, there, begin + rng.uniform(0.2, 2.0), Work(seq, "ALLREDUCE", numel, group))


def _quiet(book: Book, rng: random.Random, op: str, nearest: str) -> Truth:
    at = course.train(book, rng, course.start(book))
    late = rng.choice(book.cluster.ranks)
    _stand(book, rng, late, at + course.WAIT, op, nearest)
    said = torch_voice.dump_signal(book.cluster, at + course.WAIT + 2, late, book.cluster.ranks[late.number ^ 1], 3, 3)
    if said:
        book.rank(at + course.WAIT + 2, late, *said)
    return Truth(frozenset(SLOWER), frozenset({late.number}), frozenset({late.host}), who_told=False)


def tensor_late(book: Book, rng: random.Random) -> Truth:
    """One rank does not come to a collective of its tensor parallel group."""
    return _quiet(book, rng, rng.choice(("ALLREDUCE", "_ALLGATHER_BASE")), "tensor")


def stage_late(book: Book, rng: random.Random) -> Truth:
    """One pipeline stage does not send: the next one waits to receive."""
    return _quiet(book, rng, rng.choice(("RECV", "SEND", "COALESCED")), "pipeline")


def _dies(book: Book, rng: random.Random, op: str, nearest: str) -> Truth:
    at = course.train(book, rng, course.start(book))
    rank = rng.choice(book.cluster.ranks)
    error = (
        "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton dimension 1"
    )
    book.rank(at, rank, *torch_voice.exception(rank, book.cluster, (MAIN, LOOP), error))
    _stand(book, rng, rank, at + course.WAIT, op, nearest)
    return Truth(frozenset({"app.exception"}), frozenset({rank.number}), frozenset({rank.host}))


def tensor_dies(book: Book, rng: random.Random) -> Truth:
    """One rank of a tensor parallel group raises; nobody ends the job."""
    return _dies(book, rng, "ALLREDUCE", "tensor")


def stage_dies(book: Book, rng: random.Random) -> Truth:
    """One rank of a pipeline stage raises; nobody ends the job."""
    return _dies(book, rng, rng.choice(("RECV", "SEND")), "pipeline")


FAULTS = {f.__name__: f for f in (tensor_late, stage_late, tensor_dies, stage_dies)}

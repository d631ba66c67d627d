"""Lifecycle signs: what a record tells about the life of a process, a program or the job."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Mark = Literal[
    "",  # the record only tells something, see `LifecycleSign.tells`
    "starts",  # of the job: printed once at the start; of processes: workers are started, for the first time or again
    "starts again",  # all workers are started again; the lines above in this file belong to an earlier attempt
    "comes up",  # a process joined the others; failures above belong to an earlier attempt
    "works",  # a step of work; of the program: a final result; of the group: one member after the other reports itself
    "busy",  # a phase of other work began or goes on: load, save, compile
    "waits",  # a process waited for others until its limit
    "ends well",
    "closes",  # a library ended its part of a process in order, as at the end of a program
    "is ended",  # somebody ends the job or a process, so kills that are reported later are consequences
    "fails",  # a process ended, and by itself
    "gives up",  # a process ends itself because of its peers: a consequence, not a cause
]
Origin = Literal["job", "machine", "cluster"]
"""Origin of a line. Those of a machine or the cluster belong to no single attempt of the job."""
Subject = Literal["process", "named", "host", "group", "program", "job"]
"""The one who lives.  ``process`` printed the record; of ``named`` the fields give rank, pid or host."""
Reporter = Literal["self", "launcher", "batch", "machine"]
Author = Literal["", "person", "scheduler", "launcher", "limit", "signal"]
"""The one who ends a job or a process.  "" is not told, or told by the field ``reason``."""
Tell = Literal[
    "rank",  # the rank of the process that printed it, so lines that carry only its pid belong to that rank
    "first end",  # the launcher names the process whose end it noticed first
    "member",  # a number in a communicator, its size and its device
    "layout",  # the nodes of a communicator, and a member's number in it
    "size",  # the number of ranks, as ``world``
    "host",  # a host as the scheduler names it
    "tasks",  # the ranks of a launcher's tasks, as ``ranks``
    "workers",  # the ranks that an agent started, or their number
    "call",  # the collective in which a process waits
    "state",  # the last collective that a process began or ended
    "resume",  # work goes on from a checkpoint
    "version",
    "setting",
    "stack",
    "values",  # an answer of the examination, of which the words of any rule may tell the values
    "peer",  # the other side of a lost connection; the field ``peer`` or the text names it
    "about peers",  # an end that follows from the end of another process, for example a lost connection
    "about order",  # an end that may follow from an order to end
    "passing",  # a state of an object, for example a pod, a job or a link, that a newer state may end
    "snapshot",  # how a thing was when somebody asked; nothing tells since when
    "own state",  # its state says whether the object ended by itself
    "goes on",  # a state in which an object goes on
    "object",  # the description of an object begins
    "node",  # the host of the object that is described here
    "reason",  # why the job was ended; the text or the field ``reason`` says it
    "time limit",  # the job ran as long as it may
    "result",  # a result, which programs also print on the way
    "report",  # the head of a batch system's report on a job
    "output",  # the output of the job stands below its report
]


class LifecycleSign(Struct, frozen=True):
    """Sign of life of all records of a kind.  The format declares it, `Record.signs` holds it."""

    mark: Mark = ""
    of: Subject = "process"
    reporter: Reporter = "self"
    late: bool = False
    """The record speaks of the past, so it may stand below what happened later."""
    last: bool = False
    """The reporter says nothing more about this job, so the next start belongs to another job."""
    by: Author = ""
    tells: tuple[Tell, ...] = ()

"""Objects that go on after they were ended: a pod, a workload or a job."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import Record
from logdoctor.reasoning.derived import derive_of_other
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.object_states import is_of_machine, name_of
from logdoctor.reasoning.questions import asks
from logdoctor.reasoning.timeline import Timeline


@asks("tells passing")
def goes_on(t: Timeline, state: JobState) -> Iterator[Record]:
    """Yield ``ledger.goes_on`` for each pod, workload or job whose newest state is that it goes on.

    It stands on the line that says so. The fields are thing (its name), was and now (its states), requeued (the
    state again, if the job waits in the queue).
    """
    found: dict[str, Record] = {}
    for alarm in t.of("tells passing"):
        newer = state.lives.states.newer(alarm)
        name = name_of(newer) if newer is not None else ""
        if newer is None or (name and not name.isdecimal() and is_of_machine(alarm)):
            continue
        now = str(newer.fields.get("state", "Scheduled"))
        found[name] = derive_of_other(
            "goes_on",
            newer,
            thing=f"job {name}" if name.isdecimal() else name,
            was=alarm.fields["was"],
            now=now,
            requeued=now if "queu" in now.casefold() else None,
        )
    yield from found.values()

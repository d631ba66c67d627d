"""Sets of ranks, tasks, workers or hosts: which came, which did not, which wait, which ended."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.examination.units import role_beside
from logdoctor.pack.regexes import later

MOST = 4096
"""Members of a range, at most."""
_LIST = r"\d{1,7}(?:-\d{1,7})?(?:(?:, ?| and |,? ?& ?)\d{1,7}(?:-\d{1,7})?){0,200}"
_NOUN = (
    r"(?P<noun>(?:global |local |worker |task |host )?"
    r"(?:ranks?|tasks?|workers?|processes|process|replicas?|members?|peers?|PEs?|nodes|hosts))"
)
_MEMBERS = later(
    rf"(?i)(?<![\w\[]){_NOUN}(?: ids?| names?| indices)?(?: are| were)?:? "
    rf"?[\[({{]?(?<![\w.])(?P<list>{_LIST})[\])}}]?(?! ?of\b)(?![\w.%/]|:\d)"
    rf"|(?<!\w)\[(?P<list>{_LIST})\](?= (?:finished|joined|did|didn|have|are|were|is|has)\b)"
)
_TASK = later(r"/job:(?P<noun>[\w-]{1,60})(?:/replica:\d{1,6})?/task:(?P<list>\d{1,7})\b")
_HOSTS = later(
    r"(?i)\b(?P<noun>(?:hosts?|nodes?)(?: names?)?)(?: are| were)?: "
    r"?\[?['\"]?(?P<list>[a-z][\w.-]{0,60}(?:\[[\d,-]{1,60}\])?(?:['\"]?, "
    r"?['\"]?[a-z][\w.-]{0,60}(?:\[[\d,-]{1,60}\])?){0,60})"
)
_MISSING = r"""missing|absent|timed[ ]out|lost|unreachable|silent|unresponsive|waiting[ ](?:for|on)
    |no[ ](?:response|answer|heartbeat|report)[ ](?:from|of)
    |not[ ](?:reported|joined|join|arrived|arrive|connected|connect|ready|report|respond|responding|reached|reach
    |start|started)
    |failed[ ]to[ ](?:join|report|connect|start|respond|reach|register)|did(?:[ ]not|n't)[ ](?:join|come|report
    |respond|arrive|reach|finish|connect)"""
_BEFORE = later(
    rf"""(?ix)\b(?:(?P<missing>{_MISSING})|(?P<waiting>waiting:?)|(?P<ended>failed|dead|died|killed|terminated|exited|ended|aborted|crashed)
    |(?P<reported>reported|joined|arrived|connected|registered|ready|reporting|finished|completed|succeeded|alive
    |healthy))\b"""
)
_AFTER = later(
    rf"""(?ix)[\])]?:?[ ](?:(?:have|has|had|are|is|were|was|still|only|all|of[ ]\d{{1,7}}|
      finished[ ]collective[ ]\#\d+,[ ]but)[ ]){{0,4}}
    (?:(?P<missing>{_MISSING})
    |(?P<waiting>waiting|waited|wait|blocked|stuck|hanging|hung)
    |(?P<ended>failed|dead|died|killed|terminated|exited|ended|aborted|crashed|out[ ]of[ ]memory|segmentation)
    |(?P<reported>reported|joined|arrived|connected(?![ ]to)|registered|ready|finished|completed|succeeded|alive
    |running))\b"""
)
SAMPLES = {
    "Barrier timed out. Timed out task names: /job:jax_worker/replica:0/task:2": ("members.missing=2 (jax_worker)",),
    "/job:jax_worker/replica:0/task:3": ("members=3 (jax_worker)",),
    "missing ranks: 2, 3": ("members.missing=2,3 (ranks)",),
    "still waiting for ranks [0, 3] of 8": ("members.missing=0,3 (ranks)",),
    "srun: error: n04: tasks 2-4: Exited with exit code 1": ("members.ended=2,3,4 (tasks)",),
    "srun: error: n04: task 7: Out Of Memory": ("members.ended=7 (task)",),
    "Ranks 0, 1 and 5 did not join the barrier": ("members.missing=0,1,5 (Ranks)",),
    "[0, 1] finished collective #5, but didn't join collective #6 (count from 1)": ("members.missing=0,1",),
    "workers 0-2 reported, worker 3 is missing": ("members.reported=0,1,2 (workers)", "members.missing=3 (worker)"),
    "ranks 4,6 are waiting in all_reduce": ("members.waiting=4,6 (ranks)",),
    "Unreachable hosts: gpu-a1, gpu-a[3-4]": ("members.missing=gpu-a1,gpu-a[3-4] (hosts)",),
    "Starting 4 workers, rank 3 of 8": (),
    "ranks 0-7 use NVLink": (),
    "process 12 finished step 3.5": ("members.reported=12 (process)",),
    "nodes: 4, tasks 12.5%": (),
}


@extracts(
    "members",
    "missing absent timed lost unreachable silent unresponsive waiting response answer heartbeat report join "
    "arrive respond reach connect"
    " connected failed dead died killed terminated exited ended aborted crashed memory reported joined arrived "
    "registered ready finished"
    " completed alive waited blocked stuck hung job",
)
def extract(text: str) -> Iterator[Found]:
    """Yield sets with a role, and the task names of JAX without one: the line before them tells it."""
    matches = sorted((m for p in (_MEMBERS, _TASK, _HOSTS) for m in p.finditer(text)), key=lambda match: match.span())
    ends = [0, *(match.end() for match in matches)]
    starts = [*(match.start() for match in matches[1:]), len(text)]
    for i, match in enumerate(matches):
        role = role_beside(text, match.span(), (ends[i], starts[i]), _BEFORE, _AFTER)
        members = _numbers(match["list"]) if match["list"][0].isdigit() else tuple(_names(match["list"]))
        if members and (role or match.re is _TASK or "/task:" in match[0]):
            yield Found(role, members, of=match["noun"] or "", said=match[0])


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of ``0-2,7``; nothing if a range is too long."""
    numbers: list[int] = []
    for part in _PART.finditer(text):
        first, last = int(part[1]), int(part[2] or part[1])
        if last - first > MOST:
            return ()
        numbers.extend(range(first, last + 1))
    return tuple(dict.fromkeys(numbers))


def _names(text: str) -> Iterator[str]:
    """Yield the names of ``a, b[1-2]``."""
    for part in _HOST.finditer(text):
        yield part[0]


_PART = later(r"(\d+)(?:-(\d+))?")
_HOST = later(r"[A-Za-z][\w.-]*(?:\[[\d,-]+\])?")

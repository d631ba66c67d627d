"""Times that something waited, took or was allowed to take."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.examination.units import AMOUNT, TIME_UNIT, role_beside, to_seconds
from logdoctor.pack.regexes import later

_TIME = later(
    rf"""(?x)
    (?<![\w.,:/-])({AMOUNT})[ -]?({TIME_UNIT})(?![/=_]|\ ?per\ )
    |\b(?:(?i:timeout|timed\ out\ after|limit|elapsed|wait(?:ed)?|duration)) [ ]?[(_\[] (ms|milliseconds|s|sec
    |seconds|us|min|minutes) \b[)\]]?
      \ ?[=:]\ ? ({AMOUNT})(?![\w.])
    |\b(milliseconds|seconds|minutes|hours|days)=({AMOUNT})(?![\w.])
    """
)
_BEFORE = later(
    r"""(?ix)\b(?:
    (?P<none>every|next|in|per|retry|retrying|sleep|sleeping|interval|at)
    |(?P<waited>timed[ ]out(?:[ ]\w+)?|waiting|waited|wait|after|not[ ]respond(?:ed|ing)?|unresponsive
    |no[ ]heartbeat|stuck|hung|blocked|silent
      |(?:last|no)[ ](?:\w+[ ]){1,3}(?:for|since)|more[ ]than|missed)
    |(?P<elapsed>ran[ ]for|took|taken|elapsed|elapsed[ ]time|total[ ]time|wall[ ]time|lasted|runtime|run[ ]time
    |duration|finished[ ]in|completed[ ]in)
    |(?P<limit>timeout|time-out|time[ ]out|timeouts|time[ ]?limit|limit|deadline|within|allowed
    |at[ ]most|threshold|exceed(?:s|ed|ing)?|grace[ ]period|timedelta)
    )(?![A-Za-z])"""
)
_AFTER = later(
    r"""(?ix)[)\]]?\s?(?:
    (?P<limit>(?:time-?[ ]?out|time[ ]?limit|limit|deadline|allowed|grace)\b)
    |(?P<elapsed>(?:elapsed|runtime|run[ ]time)\b)
    |(?P<waited>(?:without|of[ ]silence|passed[ ]without|before[ ]giving|late|ago)\b)
    )"""
)
SAMPLES = {
    "WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600089 milliseconds "
    "before timing out.": ("time.limit=600 s", "time.elapsed=600.089 s"),
    "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress": ("time.waited=480 s",),
    "The client socket has timed out after 60s while trying to connect to (10.0.0.1, 29500).": ("time.waited=60 s",),
    "[/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete": (
        "time.waited=1800 s",
    ),
    "wait timeout after 300000ms, keys: /default_pg/0//worker_count": ("time.waited=300 s",),
    "INFO: task python:4711 blocked for more than 120 seconds.": ("time.waited=120 s",),
    "Timeout waiting for all workers to report, timeout of 30 min": ("time.limit=1800 s",),
    "Socket Timeout, timeout=datetime.timedelta(seconds=1800)": ("time.limit=1800 s",),
    "executor 4: no heartbeat received for 125000 ms, limit 120,000 ms": ("time.waited=125 s", "time.limit=120 s"),
    "Executor heartbeat timed out after 151342 ms": ("time.waited=151.342 s",),
    "the worker did not answer within 10 s": ("time.limit=10 s",),
    "exceeds the 5-minute limit": ("time.limit=300 s",),
    "Barrier failed, 90 seconds passed without an answer of task 3": ("time.waited=90 s",),
    "Total time     12.48 s": ("time.elapsed=12.48 s",),
    "checkpoint saved in 4.1 s": (),
    "retrying in 5 seconds": (),
    "throughput 3.1 s/it, 210 ms per step, 4 s": (),
    "lr 1e-4 s3 4 m": (),
    "mem 4 MB, 12 hosts": (),
}


@extracts(
    "time",
    "ms msec msecs millisecond milliseconds millis us usec microseconds s sec secs second seconds min mins minute "
    "minutes h hr hrs hour"
    " hours days",
)
def extract(text: str) -> Iterator[Found]:
    """Yield times with a role."""
    matches = [*_TIME.finditer(text)]
    ends = [0, *(match.end() for match in matches)]
    starts = [*(match.start() for match in matches[1:]), len(text)]
    for i, match in enumerate(matches):
        if match[4]:
            named, amount, unit = match[0].lower(), match[4], match[3]
            role = "limit" if named.startswith(("timeout", "limit")) else "elapsed" if named[0] in "ed" else "waited"
        else:
            amount, unit = (match[1], match[2]) if match[1] else (match[6], match[5])
            role = role_beside(text, match.span(), (ends[i], starts[i]), _BEFORE, _AFTER).replace("none", "")
        if role:
            yield Found(role, to_seconds(amount, unit), "s", said=match[0])

"""Silent members: those who did not come to a rendezvous, barrier or collective, as the lines of a wait name them.

They are named in a list behind a heading, in its line or in the lines right below it, or they are all others of n
where a list names those who came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import regex
from msgspec import Struct

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Said, Value
from logdoctor.pack.regexes import later

BELOW, ABOVE = 12, 4
"""Lines of the process that are read."""
MOST = 64
"""Members that are named."""
MOST_OF = 4096
_NOUN = (
    r"(?P<noun>ranks?|tasks?|workers?|process(?:es)?(?! group)|nodes?|hosts?|agents?|clients?|participants?|members?"
    r"|peers?|trainers?|pods?)"
)
_ABSENT = (
    r"(?:missing|absent|timed[ -]out|unresponsive|silent|unreachable"
    r"|not[ -](?:yet[ -])?(?:ready|joined|arrived|connected|registered|responding))"
)
_COME = r"(?:join|arriv|reach|connect|regist|respond|check|come|came|show|ready|call|enter|start)\w*"
_STAY_AWAY = (
    r"(?:(?:is|are|was|were) (?:still )?(?:missing|absent)"
    rf"|(?:did|have|has|had|does|do|were|are|is|was)(?: not|n't)(?: yet)? {_COME}|never {_COME}|not (?:yet )?{_COME})"
)
_HERE = r"(?:arrived|joined|ready|registered|connected|present|waiting|reached)"
_LIST = r"(?:(?: (?:are|is|were|was))?[ =](?P<list>(?=\d))|[^:\[\n]{0,24}(?P<list>[:\[]))"
_GIVEN = r"(?P<given>[ \[(]{1,2}(?=[\w.-]*\d)[\w.-][\w., -]{0,400}?)[\])]? "
_MISSING = later(
    rf"(?i)\b{_ABSENT}[ -](?:\w+ )?{_NOUN}\b{_LIST}"
    rf"|\b{_NOUN}\b(?:{_GIVEN}{_STAY_AWAY}|[^:\d\[\n]{{0,30}}\b{_STAY_AWAY}{_LIST})"
)
_CAME = later(
    rf"(?i)\b{_HERE}[ -]{_NOUN}\b{_LIST}"
    rf"|\b{_NOUN}\b(?:{_GIVEN}(?:have |has |are |is )?(?:already )?{_HERE}\b|[^:\d\[\n]{{0,30}}\b{_HERE}\b{_LIST})"
)
_OF = later(
    r"(?i)\b(?:world[_ ]?size|num[_ ](?:processes|workers|nodes|tasks)|nnodes|nranks|nprocs|expected(?: \w+){0,2}"
    r"|(?:out )?of(?: the)?)[ :=]{0,3}(?P<n>\d{1,5})\b(?! ?(?:s|ms|sec\w*|min\w*|[KMG]i?B)\b)"
)
_TASK = later(r"/(?:job|replica):[\w./:-]{1,120}/task:(?P<number>\d{1,7})")
_NUMBERS = later(
    r"[\s\[({]*(?P<all>\d{1,7}(?:-\d{1,7})?(?:(?: ?, ?| and | )\d{1,7}(?:-\d{1,7})?){0,63})[\s\])}.;]*"
    r"(?:$|of \d|\(|\[|,? (?:of|after|within|in) )"
)
_SPAN = later(r"(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?")
_ITEM = later(
    r"(?i)^\s*[-*•]?\s*(?:(?:rank|task|worker|process|node|host)[ :#]{0,2})?(?P<number>\d{1,7})"
    r"(?::? ?\[[^\]\n]{0,400}\]|\s*[,;.]?\s*$|: )"
)
_NAME = r"(?=[\w.-]*[a-z])(?=[\w.-]*[\d.-])\w[\w.-]{1,80}"
_HOST = later(rf"(?i)^\s*[-*•]?\s*(?:host|node)?[ :]{{0,2}}(?P<name>{_NAME})(?:[:, (].{{0,60}})?$")
_HOSTS = later(rf"(?i)^[\s\[({{'\"]*(?P<all>{_NAME}['\"]?(?: ?, ?['\"]?{_NAME}['\"]?){{0,63}})[\s\])}}.;]*$")
_PLURALS = {
    "host": "hosts",
    "node": "hosts",
    "pod": "hosts",
    "task": "tasks",
    "worker": "workers",
    "process": "processes",
    "rank": "ranks",
}
RANKED = ("ranks", "tasks", "processes")
"""Members whose numbers are ranks."""
SINGULAR = {"processes": "process"} | {name: name[:-1] for name in ("hosts", "tasks", "workers", "ranks", "members")}


class Members(Struct, frozen=True):
    """Members that a list names."""

    noun: str
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    lines: tuple[Said, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ranks or self.hosts)


@asks
def silent_members(scene: Scene) -> Iterator[Answer]:
    """Yield the members that did not come, if the lines of a time-out name them, or all others."""
    if not _waits(scene):
        return
    lines = [*reversed([*islice(scene.above(), ABOVE)]), *scene.block, *islice(scene.below(), BELOW)]
    for at, said in enumerate(lines):
        heading = _MISSING.search(said.text)
        if heading is not None and (found := _members(heading, lines[at:])):
            yield _answer(found, _total(lines))
            return
    for at, said in enumerate(lines):
        heading = _CAME.search(said.text)
        if (
            heading is not None
            and (came := _members(heading, lines[at:]))
            and (missing := _others(came, _total(lines)))
        ):
            yield _answer(missing, _total(lines))
            return


def _waits(scene: Scene) -> bool:
    rule = scene.rule
    return scene.record.has("waits") or (rule is not None and rule.failure_class in ("waits in vain", "late"))


def _answer(found: Members, total: int | None) -> Answer:
    base = found.lines[0]
    names = found.ranks or found.hosts
    who = f"{found.noun if len(names) > 1 else SINGULAR[found.noun]} {', '.join(map(str, names))}"
    are_ranks = found.noun in RANKED
    fields: dict[str, Value] = {
        "missing_ranks": found.ranks if are_ranks else (),
        "missing_hosts": found.hosts,
        "who": who,
    }
    fact = Fact("members", "missing", names, base.line, of=found.noun)
    lines = tuple(said.line for said in found.lines[1:3])
    if total and total > len(names) and found.ranks:
        return Answer("missing", base, {**fields, "of": total}, lines, (fact,), "of", shared=True)
    return Answer("missing", base, fields, lines, (fact,), shared=True)


def _members(heading: regex.Match[str], lines: Sequence[Said]) -> Members | None:
    """Return the members behind a heading, else those in the lines right below it."""
    said, noun = lines[0], _noun(heading)
    if rest := (heading["given"] or said.text[heading.end("list") :]).strip():
        return _in_line(noun, rest, said)
    ranks: dict[int, Said] = {}
    hosts: dict[str, Said] = {}
    for below in islice(lines[1:], MOST):
        if task := _TASK.search(below.text):
            noun = "tasks"
            ranks.setdefault(int(task["number"]), below)
        elif noun != "hosts" and (item := _ITEM.match(below.text)):
            ranks.setdefault(int(item["number"]), below)
        elif noun in ("hosts", "members") and (host := _HOST.match(below.text)):
            hosts.setdefault(host["name"], below)
        else:
            break
    shown = tuple(dict.fromkeys((said, *ranks.values(), *hosts.values())))
    return Members(noun if not hosts else "hosts", tuple(ranks), () if ranks else tuple(hosts), shown)


def _in_line(noun: str, rest: str, said: Said) -> Members | None:
    if tasks := [int(task["number"]) for task in _TASK.finditer(rest)]:
        return Members("tasks", tuple(dict.fromkeys(tasks)), (), (said,))
    if noun != "hosts" and (numbers := _NUMBERS.match(rest)):
        found = tuple(_spans(numbers["all"]))
        return Members(noun, found, (), (said,)) if len(found) > 1 or noun in RANKED else None  # else it may be a count
    if noun == "hosts" and (hosts := _HOSTS.match(rest)):
        names = (name.strip(" '\"") for name in hosts["all"].split(","))
        return Members(noun, (), tuple(dict.fromkeys(names)), (said,))
    return None


def _spans(text: str) -> Iterable[int]:
    for span in _SPAN.finditer(text):
        first, last = int(span["first"]), int(span["last"] or span["first"])
        yield from range(first, min(last, first + MOST) + 1)


def _noun(heading: regex.Match[str]) -> str:
    nouns = [n for n in heading.captures("noun") if n]
    word = nouns[-1].lower()
    return next((plural for begin, plural in _PLURALS.items() if word.startswith(begin)), "members")


def _total(lines: Iterable[Said]) -> int | None:
    """Return how many members there are, if all lines that tell it agree."""
    found = {int(of["n"]) for said in lines for of in _OF.finditer(said.text, 0, 1000)}
    return found.pop() if len(found) == 1 else None


def _others(came: Members, total: int | None) -> Members | None:
    """Return all others of ``total``, if those who came are numbered from 0 and fewer."""
    if total is None or total > MOST_OF or len(came.ranks) < 2 or max(came.ranks) >= total:
        return None
    missing = tuple(sorted({*range(total)}.difference(came.ranks)))
    return Members(came.noun, missing, (), came.lines) if 0 < len(missing) <= MOST else None

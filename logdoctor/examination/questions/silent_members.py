"""Silent members: those who did not come to a rendezvous, a barrier or a collective, as the lines at a time-out name them.

They are named in a list behind a heading, in its line or in the lines right below it, or they are all others of n
where a list names those who came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Said
from logdoctor.pack.regexes import later

BELOW, ABOVE = 12, 4
"""Lines of the process that are read."""
MOST = 64
"""Members that are named."""
MOST_OF = 4096
_NOUN = r"(?P<noun>ranks?|tasks?|workers?|process(?:es)?|nodes?|hosts?|agents?|clients?|participants?|members?|peers?|trainers?|pods?)"
_MISSING = later(
    rf"(?i)(?:\b(?:missing|absent|timed[ -]out|unresponsive|silent|late|unreachable|not[ -](?:yet[ -])?(?:ready|joined|arrived|connected|registered|responding))[ -]"
    rf"(?:\w+ )?{_NOUN}\b|\b{_NOUN}\b[^:\n]{{0,40}}\b(?:missing|timed out|absent|(?:did|have|has|had|do|were|are|is|was)(?: not|n't)"
    r"(?: yet)? (?:join|joined|arrive|arrived|reach|reached|connect|connected|register|registered|respond|responded|check in|checked in|come|show up|ready|call|called|enter|entered)))"
    r"(?:[^:\n]{0,60})(?P<list>:|[ =]?\[| (?=\d))"
)
_CAME = later(
    rf"(?i)(?:\b(?:arrived|joined|ready|registered|connected|present|waiting)[ -]{_NOUN}\b|\b{_NOUN}\b[^:\n]{{0,30}}\b(?:that|which|have|has|had|are|already)?"
    r" ?(?:arrived|joined|reached|connected|registered|ready|waiting|present)\b)[^:\n]{0,40}(?P<list>:|[ =]?\[| (?=\d))"
)
_OF = later(
    r"(?i)\b(?:world[_ ]?size|num[_ ](?:processes|workers|nodes|tasks)|nnodes|nranks|nprocs|expected(?: \w+){0,2}|(?:out )?of(?: the)?)"
    r"[ :=]{0,3}(?P<n>\d{1,5})\b(?! ?(?:s|ms|sec\w*|min\w*|[KMG]i?B)\b)"
)
_TASK = later(r"/(?:job|replica):[\w./:-]{1,120}/task:(?P<number>\d{1,7})")
_NUMBERS = later(r"[\s\[({]*(?P<all>\d{1,7}(?:-\d{1,7})?(?:(?: ?, ?| and | )\d{1,7}(?:-\d{1,7})?){0,63})[\s\])}.;]*(?:$|of \d|\(|\[|,? (?:of|after|within|in) )")
_SPAN = later(r"(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?")
_ITEM = later(r"(?i)^\s*[-*•]?\s*(?:(?P<noun>rank|task|worker|process|node|host)[ :#]{0,2})?(?P<number>\d{1,7})(?::? ?\[[^\]\n]{0,400}\]|\s*[,;.]?\s*$|: )")
_HOST = later(r"(?i)^\s*[-*•]?\s*(?:host|node)?[ :]{0,2}(?P<name>(?=[\w.-]*[a-z])(?=[\w.-]*[\d.-])[\w][\w.-]{1,80})(?:[:, (].{0,60})?$")
_HOSTS = later(r"(?i)^[\s\[({'\"]*(?P<all>(?=[\w.-]*[a-z])(?=[\w.-]*\d)\w[\w.-]{1,80}['\"]?(?: ?, ?['\"]?(?=[\w.-]*\d)\w[\w.-]{1,80}['\"]?){0,63})[\s\])}.;]*$")
_KINDS = {"host": "hosts", "node": "hosts", "pod": "hosts", "task": "tasks", "worker": "workers", "process": "processes"}


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
    lines = [*reversed([*islice(scene.above(), ABOVE)]), *scene.block(), *islice(scene.below(), BELOW)]
    for at, said in enumerate(lines):
        heading = _MISSING.search(said.text)
        if heading is not None and (found := _members(heading, lines[at:])):
            yield _answer(found, _total(lines))
            return
    for at, said in enumerate(lines):
        heading = _CAME.search(said.text)
        if heading is not None and (came := _members(heading, lines[at:])) and (missing := _others(came, _total(lines))):
            yield _answer(missing, _total(lines))
            return


def _waits(scene: Scene) -> bool:
    rule = scene.rule
    return scene.record.has("waits") or (rule is not None and rule.failure_class in ("waits in vain", "late"))


def _answer(found: Members, total: int | None) -> Answer:
    base = found.lines[0]
    names = found.ranks or found.hosts
    fields = {"missing_ranks": found.ranks, "missing_hosts": found.hosts, "names": names}
    fact = Fact("members", "missing", names, base.line, of=found.noun)
    form = f"{found.noun}-of" if total and total > len(names) and found.ranks else found.noun
    of = {"of": total} if form != found.noun else {}
    lines = tuple(said.line for said in found.lines[1:3])
    return Answer("missing", base, {**fields, **of}, lines=lines, facts=(fact,), form=form)


def _members(heading: object, lines: Sequence[Said]) -> Members | None:
    """Return the members behind a heading, else those in the lines right below it."""
    said = lines[0]
    noun = _noun(heading)
    rest = said.text[heading.end("list") :].strip()  # type: ignore[attr-defined]
    if rest:
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
        return Members(noun, tuple(_spans(numbers["all"])), (), (said,))
    if noun == "hosts" and (hosts := _HOSTS.match(rest)):
        names = (name.strip(" '\"") for name in hosts["all"].split(","))
        return Members(noun, (), tuple(dict.fromkeys(names)), (said,))
    return None


def _spans(text: str) -> Iterable[int]:
    for span in _SPAN.finditer(text):
        first, last = int(span["first"]), int(span["last"] or span["first"])
        yield from range(first, min(last, first + MOST) + 1)


def _noun(heading: object) -> str:
    nouns = [n for n in heading.captures("noun") if n]  # type: ignore[attr-defined]
    word = nouns[-1].lower()
    return next((plural for begin, plural in _KINDS.items() if word.startswith(begin)), "ranks" if word.startswith("rank") else "members")


def _total(lines: Iterable[Said]) -> int | None:
    """Return how many members there are, if all lines that tell it agree."""
    found = {int(of["n"]) for said in lines for of in _OF.finditer(said.text, 0, 1000)}
    return found.pop() if len(found) == 1 else None


def _others(came: Members, total: int | None) -> Members | None:
    """Return all others of ``total``, if those who came are numbered from 0 and fewer."""
    if total is None or total > MOST_OF or not came.ranks or max(came.ranks) >= total:
        return None
    missing = tuple(sorted({*range(total)}.difference(came.ranks)))
    return Members(came.noun, missing, (), came.lines) if 0 < len(missing) <= MOST else None

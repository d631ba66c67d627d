"""Makes a diagnosis fit to be shown to strangers: secrets are taken out, people and machines get pseudonyms.

A pure function of the diagnosis; who renders the result knows nothing of it.  The same host is ``host-1`` in every
sentence, line, table and file name, so that the story still reads.  Numbers of collectives, hashes, ids of
communicators, versions and module paths stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from logdoctor.model import Comparison, Diagnosis, Difference, JobPicture
from logdoctor.redaction.addresses import addresses_in
from logdoctor.redaction.assignments import assignments_in
from logdoctor.redaction.found import Finder, Found, without_overlaps
from logdoctor.redaction.hosts import KnownHosts, hosts_by_place, hosts_by_shape, is_known_by
from logdoctor.redaction.people import is_a_name, people_in
from logdoctor.redaction.pseudonyms import Pseudonyms
from logdoctor.redaction.tokens import tokens_in

__all__ = ["Redacted", "redacted", "without_secrets"]

_KEPT = frozenset(
    "signature rule references by action explains explained_by role kind verdict failure unit launcher versions "
    "versions_apart made_by op groups group bus_id coverage topic".split()
)
"""Parts that are ours or that name nobody."""
_HOSTS = frozenset(("host", "hosts", "of"))
_FINDERS: tuple[Finder, ...] = (tokens_in, assignments_in, people_in, addresses_in, hosts_by_shape, hosts_by_place)
_SHORTEST = 3


Told = TypeVar("Told", Diagnosis, Comparison)


class Redacted(Struct, Generic[Told], frozen=True):
    """What is told and names nobody, and the ``key``: what each pseudonym stands for."""

    told: Told
    key: Mapping[str, tuple[str, ...]]


def redacted(told: Told) -> Redacted[Told]:
    """Give what is ``told`` without secrets, and with pseudonyms for hosts, addresses, users and e-mail addresses."""
    redaction = _Redaction(told)
    return Redacted(redaction.of(told), redaction.pseudonyms.key)


def without_secrets(text: str) -> str:
    """Give ``text`` without tokens, keys and passwords; whom it names stays, for pages that are about hosts."""
    finds = (found for finder in (tokens_in, assignments_in) for found in finder(text) if found.sort == "secret")
    return _put(text, finds, Pseudonyms())


def _put(text: str, finds: Iterable[Found], pseudonyms: Pseudonyms) -> str:
    """``text`` with a pseudonym in the place of each of ``finds``."""
    at, pieces = 0, list[str]()
    for found in without_overlaps(finds, len(text)):
        pieces += text[at : found.start], pseudonyms.of(found)
        at = found.end
    return "".join((*pieces, text[at:]))


class _Redaction:
    """First all is read for the names of hosts and users, which then are found also where nothing gives them away."""

    def __init__(self, told: Diagnosis | Comparison) -> None:
        self.pseudonyms = Pseudonyms()
        hosts, users = dict[str, None](), set[str]()
        texts: set[str] = set()
        for name, text in _texts(told):
            if name in _HOSTS and is_known_by(text):
                hosts[text] = None
            texts.add(text)
        self._found = {text: _finds(text) for text in sorted(texts)}
        for found in (one for finds in self._found.values() for one in finds):
            if found.sort == "host":
                hosts.setdefault(found.name)
            elif found.sort == "user" and len(found.name) >= _SHORTEST:
                users.add(found.name)
        for name in hosts:
            self.pseudonyms.of(Found(0, 0, "host", name))
        self._hosts, self._users = KnownHosts(set(hosts)), _KnownUsers(users)
        self._made: dict[str, str] = {}

    def of(self, part: Any, name: str = "") -> Any:
        """Give ``part`` (any noun of the model) with every text in it redacted."""
        if isinstance(part, str):
            return self.text(part)
        if isinstance(part, tuple):
            return tuple(self.of(one, name) for one in part)
        if isinstance(part, JobPicture):
            settings = tuple((key, self.text(f"{key}={value}")[len(key) + 1 :]) for key, value in part.environment)
            return replace(self._fields(part, "environment"), environment=settings)
        if isinstance(part, Difference) and part.topic == "environment":
            good, bad = (self.text(f"{part.name}={value}")[len(part.name) + 1 :] for value in (part.good, part.bad))
            return replace(part, good=good, bad=bad)
        return self._fields(part) if isinstance(part, Struct) else part

    def _fields(self, part: Any, *apart: str) -> Any:
        changed = {name: self.of(value, name) for name, value in asdict(part).items() if name not in _KEPT.union(apart)}
        return replace(part, **changed)

    def text(self, text: str) -> str:
        """Give ``text`` without what must not be shown."""
        if text not in self._made:
            self._made[text] = self._replaced(text)
        return self._made[text]

    def _replaced(self, text: str) -> str:
        finds = self._found.get(text)
        every = (*(_finds(text) if finds is None else finds), *self._hosts(text), *self._users(text))
        return _put(text, every, self.pseudonyms)


class _KnownUsers:
    """The people whose names were found, wherever they stand as a word of their own."""

    def __init__(self, names: set[str]) -> None:
        self._names = sorted(names)

    def __call__(self, text: str) -> Iterator[Found]:
        for name in self._names:
            at = text.find(name)
            while at >= 0:
                end = at + len(name)
                if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum() and is_a_name(name):
                    yield Found(at, end, "user", name)
                at = text.find(name, end)


def _finds(text: str) -> tuple[Found, ...]:
    return tuple(found for finder in _FINDERS for found in finder(text))


def _texts(part: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """All texts of ``part``, each with the name of the field that holds it, in the order of the fields."""
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, tuple):
        for one in part:
            yield from _texts(one, name)
    elif isinstance(part, Struct):
        for field, value in asdict(part).items():
            if field not in _KEPT:
                yield from _texts(value, field)

"""Redaction of a diagnosis for strangers.

Secrets are removed. Hosts, addresses, users and e-mail addresses get pseudonyms. The same host is ``<host-a>`` in every
sentence, line, table and file name, so that the report stays readable. Numbers of collectives, hashes, ids of
communicators, versions and module paths stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from logdoctor.model import Comparison, Defect, Diagnosis, Difference, JobSummary, Redacted, Step
from logdoctor.redaction.addresses import find_addresses
from logdoctor.redaction.assignments import find_assignments
from logdoctor.redaction.hosts import KnownHosts, find_hosts_by_context, find_hosts_by_shape, is_distinct
from logdoctor.redaction.people import find_people, is_person
from logdoctor.redaction.pseudonyms import Pseudonyms
from logdoctor.redaction.spans import Finder, Span, remove_overlaps
from logdoctor.redaction.tokens import find_tokens

__all__ = ["Redaction", "redact", "redact_secrets"]

_PUBLIC_FIELDS = frozenset(
    "signature rule references by action explains explained_by role kind verdict failure do scope who unit "
    "launcher versions versions_apart made_by op groups group bus_id coverage topic read".split()
)
"""Fields that hold our own words or that name nobody."""
_HOST_FIELDS = frozenset(("host", "hosts", "of"))
_FINDERS: tuple[Finder, ...] = (
    find_tokens,
    find_assignments,
    find_people,
    find_addresses,
    find_hosts_by_shape,
    find_hosts_by_context,
)
_SHORTEST_USER = 3


Content = TypeVar("Content", Diagnosis, Comparison)


class Redaction(Struct, Generic[Content], frozen=True):
    """Redacted content. ``key`` maps each pseudonym to the names behind it."""

    content: Content
    key: Mapping[str, tuple[str, ...]]


def redact(content: Content) -> Redaction[Content]:
    """Remove secrets, and replace hosts, addresses, users and e-mail addresses by pseudonyms."""
    redactor = _Redactor(content)
    redacted = redactor.redact(content)
    if isinstance(redacted, Diagnosis):
        redacted = replace(redacted, redaction=_count(redactor.pseudonyms.key))
    return Redaction(redacted, redactor.pseudonyms.key)


def _count(key: Iterable[str]) -> Redacted:
    kinds = Counter(pseudonym[1:].partition("-")[0] for pseudonym in key)
    return Redacted(on=True, hosts=kinds["host"], users=kinds["user"], addresses=kinds["ip"])


def redact_secrets(text: str) -> str:
    """Replace tokens, keys and passwords by ``<redacted:password>`` and the like. Names of hosts and users stay."""
    spans = (span for finder in (find_tokens, find_assignments) for span in finder(text) if span.kind == "secret")
    return _replace_spans(text, spans, Pseudonyms())


def _replace_spans(text: str, spans: Iterable[Span], pseudonyms: Pseudonyms) -> str:
    at, pieces = 0, list[str]()
    for span in remove_overlaps(spans, len(text)):
        pieces += text[at : span.start], pseudonyms.of(span)
        at = span.end
    return "".join((*pieces, text[at:]))


class _Redactor:
    """Redaction of one diagnosis or comparison.

    All texts are first read for names of hosts and users. Then these names are also found without any context.
    """

    def __init__(self, content: Diagnosis | Comparison) -> None:
        self.pseudonyms = Pseudonyms()
        hosts, users = dict[str, None](), set[str]()
        texts: set[str] = set()
        for name, text in _texts(content):
            if name in _HOST_FIELDS and is_distinct(text):
                hosts[text] = None
            texts.add(text)
        self._spans = {text: _find_spans(text) for text in sorted(texts)}
        for span in (span for spans in self._spans.values() for span in spans):
            if span.kind == "host":
                hosts.setdefault(span.name)
            elif span.kind == "user" and len(span.name) >= _SHORTEST_USER:
                users.add(span.name)
        for name in hosts:
            self.pseudonyms.of(Span(0, 0, "host", name))
        self._hosts, self._users = KnownHosts(set(hosts)), _KnownUsers(users)
        self._cache: dict[str, str] = {}

    def redact(self, part: Any, name: str = "") -> Any:
        """Redact every text in ``part``, a struct, tuple or text."""
        if isinstance(part, str):
            return self.redact_text(part)
        if isinstance(part, tuple):
            return tuple(self.redact(item, name) for item in part)
        if isinstance(part, JobSummary):
            environment = tuple((key, self._redact_value(key, value)) for key, value in part.environment)
            return replace(self._redact_fields(part, "environment"), environment=environment)
        if isinstance(part, Difference) and part.topic == "environment":
            good, bad = (self._redact_value(part.name, value) for value in (part.good, part.bad))
            return replace(part, good=good, bad=bad)
        if isinstance(part, Step):
            return self._redact_step(part)
        if isinstance(part, Defect):
            return replace(part, line=self.redact(part.line))
        return self._redact_fields(part) if isinstance(part, Struct) else part

    def _redact_step(self, step: Step) -> Step:
        """Redact a step. Commands that hold a name are left out, because they could not be run any more."""
        real = all(self.redact_text(command) == command for command in step.commands)
        return replace(step, text=self.redact_text(step.text), commands=step.commands if real else ())

    def _redact_fields(self, part: Any, *apart: str) -> Any:
        """Redact the fields of ``part`` except those in ``apart``."""
        skipped = _PUBLIC_FIELDS.union(apart)
        return replace(
            part, **{name: self.redact(value, name) for name, value in asdict(part).items() if name not in skipped}
        )

    def _redact_value(self, key: str, value: str) -> str:
        """Redact the value of a setting. Its name matters: ``DB_PASSWORD`` marks a secret."""
        return self.redact_text(f"{key}={value}")[len(key) + 1 :]

    def redact_text(self, text: str) -> str:
        if text not in self._cache:
            spans = self._spans.get(text)
            spans = _find_spans(text) if spans is None else spans
            self._cache[text] = _replace_spans(text, (*spans, *self._hosts(text), *self._users(text)), self.pseudonyms)
        return self._cache[text]


class _KnownUsers:
    """Finder for known users, as words of their own."""

    def __init__(self, names: set[str]) -> None:
        self._names = sorted(names)

    def __call__(self, text: str) -> Iterator[Span]:
        for name in self._names:
            at = text.find(name)
            while at >= 0:
                end = at + len(name)
                if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum() and is_person(name):
                    yield Span(at, end, "user", name)
                at = text.find(name, end)


def _find_spans(text: str) -> tuple[Span, ...]:
    return tuple(span for finder in _FINDERS for span in finder(text))


def _texts(part: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text in ``part`` with the name of its field."""
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, tuple):
        for item in part:
            yield from _texts(item, name)
    elif isinstance(part, Struct):
        for field, value in asdict(part).items():
            if field not in _PUBLIC_FIELDS:
                yield from _texts(value, field)

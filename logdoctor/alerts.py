"""Short messages about failures to chats, mail and webhooks, one a job and cause.

apprise delivers them. A message that cannot be sent changes no answer and no exit code: it is told in one line.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TextIO

from msgspec.structs import replace

from logdoctor.model import Diagnosis
from logdoctor.model.digests import blake2b
from logdoctor.redaction import redact
from logdoctor.render.answer_document import document
from logdoctor.render.catalogue import catalogue
from logdoctor.render.phrases import location

CALM_DECISION = "do-nothing"
MOST_AN_HOUR = 20
PATIENCE = 15.0
"""Seconds in which all targets have to take a message."""
LONGEST_TITLE, LONGEST_LINE = 200, 300
HOUR, REMEMBERED = 3600.0, 30 * 86400.0
MOST_REMEMBERED = 1 << 20
"""Bytes that are read of the file of sent messages."""
_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")
_MENTION = re.compile(r"(@)(?=\w)|(<)(?=[!@#])")


class Message(NamedTuple):
    title: str
    body: str


class QuietHours(NamedTuple):
    """Minutes of the day between which no message is sent. They may go over midnight."""

    start: int = 0
    end: int = 0

    @classmethod
    def read(cls, text: str) -> QuietHours:
        """Read hours such as 22:00-07:00. Raise `ValueError` for anything else."""
        match = _HOURS.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"'{text}' is not like 22:00-07:00")
        hour, minute, end_hour, end_minute = map(int, match.groups())
        return cls(hour * 60 + minute, end_hour * 60 + end_minute)

    def hold_at(self, now: datetime) -> bool:
        minute = now.hour * 60 + now.minute
        if self.start <= self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end


class Alerts:
    """The targets of one command. Without targets nothing is sent."""

    def __init__(
        self,
        targets: Sequence[str],
        tell: Callable[[str], object],
        *,
        quiet: QuietHours | None = None,
        most: int = MOST_AN_HOUR,
        names: bool = False,
        lang: str = "en",
    ) -> None:
        """``tell`` prints the line about a message that is not sent. ``names``: hosts and users are not replaced."""
        self._targets, self._tell, self._names, self._lang = [*targets], tell, names, lang
        self._quiet, self._sent = quiet or QuietHours(), SentMessages(most)
        self._told: set[str] = set()
        if self._targets and find_spec("apprise") is None:
            self._targets.clear()
            tell("no message can be sent: apprise is not installed; pip install 'logdoctor[notify]'")

    def send(self, diagnosis: Diagnosis, job: str, *, page: str = "", about: str = "") -> bool:
        """Send a message about a failure, unless its job and cause were told before. Return whether it was sent.

        ``job`` stands for the job if the scheduler gave it no id. ``page`` is the path of its report, and ``about``
        says what happened where the diagnosis knows no cause.
        """
        if not self._targets or diagnosis.decision.do == CALM_DECISION:
            return False
        name = diagnosis.job.id or job
        key = f"{name}\n{diagnosis.answer.signature if diagnosis.answer else diagnosis.verdict}"
        if key in self._told:
            return False
        self._told.add(key)
        if self._quiet.hold_at(datetime.now().astimezone()):
            self._tell("no message is sent: these are quiet hours")
            return False
        refusal = self._sent.add(key)
        if refusal is not None:
            if refusal:
                self._tell(f"no message is sent: {refusal}")
            return False
        told = make_message(diagnosis, page, about, names=self._names, lang=self._lang)
        reached = [self._deliver(number, target, told) for number, target in enumerate(self._targets, 1)]
        if not any(reached):
            self._sent.take_back(key)
        return any(reached)

    def _deliver(self, number: int, target: str, message: Message) -> bool:
        """Send to one target. Its address holds secrets, so that only its kind is told."""
        faults = [f"it does not answer in {PATIENCE:.0f} s"]

        def send() -> None:
            faults[:] = [_send(target, message)]

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        if fault := faults[0]:
            self._tell(f"target {number} ({kind_of(target)}) got no message: {fault}")
        return not fault


def make_message(
    diagnosis: Diagnosis, page: str = "", about: str = "", *, names: bool = False, lang: str = "en"
) -> Message:
    """Return the message: decision and cause, then rank and host, the line that proves it, and the report's path."""
    if about and not diagnosis.answer:
        diagnosis = replace(diagnosis, decision=replace(diagnosis.decision, because=about))
    if not names:
        diagnosis = redact(diagnosis).content
    words = catalogue(lang)
    shown = document(diagnosis, words)
    evidence = diagnosis.answer.evidence if diagnosis.answer else diagnosis.unexplained
    proof = f"{location(evidence[0])}: {evidence[0].line.text.strip()}" if evidence else ""
    more = diagnosis.decision.because if about and not diagnosis.answer else ""
    lines = (shown.identity, more, proof, page)
    title = f"{shown.mark} {shown.name}: {shown.headline}"
    body = "\n".join(_harmless(line, LONGEST_LINE) for line in lines if line)
    return Message(_harmless(title, LONGEST_TITLE), body)


def kind_of(target: str) -> str:
    """Return the kind of a target: ``slack://...``."""
    kind = target.partition("://")[0]
    return f"{kind}://..." if re.fullmatch(r"[A-Za-z0-9_+-]{1,20}", kind) and "://" in target else "no URL"


def _harmless(text: str, most: int) -> str:
    """Return text of a log so that it calls nobody in a chat and fits on a screen."""
    from logdoctor.model.escape import escape

    text = _MENTION.sub(lambda match: f"{match[0]}\u200b", escape(text, " "))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _send(target: str, message: Message) -> str:
    """Hand the message to apprise. Return why it was not sent, or nothing."""
    logging.getLogger("apprise").addHandler(logging.NullHandler())
    logging.getLogger("apprise").propagate = False
    try:
        import apprise

        server = apprise.Apprise()
        if not server.add(target):
            return "apprise does not know such an address"
        sent = server.notify(message.body, message.title, apprise.NotifyType.FAILURE, apprise.NotifyFormat.TEXT)
    except Exception as error:  # noqa: BLE001 - whatever a target does, the answer stands. Its text may hold secrets
        return f"apprise failed ({type(error).__name__})"
    return "" if sent else "it refused the message, or cannot be reached"


class SentMessages:
    """The messages of a user that were sent, by all commands. Only digests of job and cause are kept.

    Without a file that can be written each command knows its own messages only.
    """

    def __init__(self, most: int) -> None:
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 - never raises
        self._file, self._most = Path(state, "logdoctor", "alerts"), most
        self._own: list[float] = []

    def add(self, key: str) -> str | None:
        """Note that a message is sent now. Return why it must not be: "" if it was sent before; None if it may."""
        now, digest = time.time(), _digest(key)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a+", encoding="ascii", errors="replace") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                sent = _read(file, now)
                if digest in (name for _, name in sent):
                    return ""
                if sum(at > now - HOUR for at, _ in sent) >= self._most:
                    return self._over_limit()
                self._write(file, [*sent, (now, digest)])
        except OSError:
            self._own = [at for at in self._own if at > now - HOUR]
            if len(self._own) >= self._most:
                return self._over_limit()
            self._own.append(now)
        return None

    def take_back(self, key: str) -> None:
        """Forget a message that no target took."""
        try:
            with self._file.open("a+", encoding="ascii", errors="replace") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._write(file, [entry for entry in _read(file, time.time()) if entry[1] != _digest(key)])
        except OSError:
            self._own = self._own[:-1]

    def _over_limit(self) -> str:
        return f"{self._most} were sent within an hour, which is the limit"

    @staticmethod
    def _write(file: TextIO, entries: Sequence[tuple[float, str]]) -> None:
        file.seek(0)
        file.truncate()
        file.write("".join(f"{at:.0f} {digest}\n" for at, digest in entries))


def _read(file: TextIO, now: float) -> list[tuple[float, str]]:
    file.seek(0)
    entries = (line.split() for line in file.read(MOST_REMEMBERED).splitlines())
    found = [(float(e[0]), e[1]) for e in entries if len(e) == 2 and e[0].isdecimal()]
    return [(at, digest) for at, digest in found if at > now - REMEMBERED]


def _digest(key: str) -> str:
    return blake2b(key.encode(errors="replace"), digest_size=12).hexdigest()

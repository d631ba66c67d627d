"""E-mail addresses and user names: home folders, USER, uid= and ssh logins."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.pack.regexes import later
from logdoctor.redaction.spans import Span, group_span

_EMAIL = later(
    r"(?<![\w.+@-])[\w][\w.+-]{0,63}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,6}(?P<last>[A-Za-z]{2,12})(?![\w@-]|\.\w)"
)
_NO_TOP_LEVEL = frozenset(
    "service socket timer mount target slice scope device swap path so py sh log json local".split()
)
_USER = r"(?P<user>[A-Za-z_][\w-]{1,31}(?:\.[A-Za-z][\w-]{1,31})?)"

PATTERNS = (
    later(rf"/(?:home|homes|Users|(?<!api/)(?<!v\d/)users)/(?:[a-z]/)?{_USER}"),
    later(rf"(?i)\b[a-z]:\\+users\\+{_USER}"),
    later(rf"(?<![\w~/])~{_USER}(?=/)"),
    later(
        rf"\b(?:USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER|PBS_O_LOGNAME|LSB_JOB_USER"
        rf"|NB_USER)[\"']?\s{{0,3}}[=:]\s{{0,3}}[\"']?{_USER}"
    ),
    later(rf"\b[Uu]ser(?:[Nn]ame|Id|ID)?[\"']?\s{{0,3}}[=:]\s{{0,3}}[\"']?{_USER}(?![\w.:/=]|\()"),
    later(rf"\b(?:UserId|uid|euid|ruid)=(?:\d{{1,10}}\()?{_USER}(?=\()|\b(?:uid|euid|ruid)=\d{{1,10}}\({_USER}\)"),
    later(rf"\b(?:for|by|as) (?:invalid )?user ['\"]?{_USER}(?=['\"(:,.]|\s|$)"),
    later(rf"\b[Uu]ser ['\"]{_USER}['\"]"),
    later(
        rf"(?<![\w.@/+:-]){_USER}@(?!sha\d|md5|v\d|ffff)(?=(?:\d{{1,3}}\.){{3}}\d"
        rf"|[A-Za-z][A-Za-z-]*\d[\w-]*(?:[:\s'\"),.]|$)|(?:[A-Za-z0-9][\w-]*\.)+[A-Za-z]{{2,}}:)"
    ),
    later(rf"\bDear {_USER}\b"),
)
"""Patterns whose ``user`` is the name of a person."""

COMMON_ACCOUNTS = frozenset(
    "root home buildd mockbuild ubuntu ec2-user admin administrator user users nobody slurm mpi mpiuser runner "
    "centos debian opc azureuser core jovyan default shared app appuser dev test tests guest daemon www-data "
    "kubernetes code data work workspace project projects public scratch docker vscode ray worker node host all other "
    "others the your you name username null none unknown git hostname id is was and not has space process "
    "program mode defined input request groups group env torch pytorch deepspeed train model python conda cuda "
    "nvidia file files lib bin opt src local system kernel self namespace namespaces but".split()
)
"""Accounts of system images, and words that are not names. Redacting them would hide nothing."""


def find_people(text: str) -> Iterator[Span]:
    """Yield the e-mail addresses and user names in ``text``."""
    if "@" in text:
        for match in _EMAIL.finditer(text):
            if match["last"].lower() not in _NO_TOP_LEVEL and not match.group().lower().startswith("git@"):
                yield group_span(match, "email", match.group())
    for pattern in PATTERNS:
        for match in pattern.finditer(text):
            name = match["user"].rstrip(".")
            if is_person(name):
                start = match.start("user")
                yield Span(start, start + len(name), "user", name)


def is_person(word: str) -> bool:
    """Return True if ``word`` can identify a person. ``root`` and numbers cannot."""
    return word.lower() not in COMMON_ACCOUNTS and not word.replace("_", "").isdigit()

"""Who it was: e-mail addresses, home folders, and what is printed beside USER, uid= or an ssh login."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.redaction.found import Found, within
from logdoctor.regexes import later

_EMAIL = later(
    r"(?<![\w.+@-])[\w][\w.+-]{0,63}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,6}(?P<last>[A-Za-z]{2,12})(?![\w@-]|\.\w)"
)
_NO_DOMAIN = frozenset("service socket timer mount target slice scope device swap path so py sh log json local".split())
_USER = r"(?P<user>[A-Za-z_][\w-]{1,31}(?:\.[A-Za-z][\w-]{1,31})?)"

FORMS = (
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
"""Each holds the name of a person in ``user``."""

NOBODY = frozenset(
    "root home buildd mockbuild ubuntu ec2-user admin administrator user users nobody slurm mpi mpiuser runner "
    "centos debian opc azureuser core jovyan default shared app appuser dev test tests guest daemon www-data "
    "kubernetes code data work workspace project projects public scratch docker vscode ray worker node host all other "
    "others the your you name username null none unknown git hostname id is was and not has space process "
    "program mode defined input request groups group env torch pytorch deepspeed train model python conda cuda "
    "nvidia file files lib bin opt src local system kernel self namespace namespaces but".split()
)
"""Accounts that images are made with, and words that are nobody's name."""


def people_in(text: str) -> Iterator[Found]:
    """The e-mail addresses and the names of users in ``text``."""
    if "@" in text:
        for found in _EMAIL.finditer(text):
            if found["last"].lower() not in _NO_DOMAIN and not found.group().lower().startswith("git@"):
                yield within(found, "email", found.group())
    for form in FORMS:
        for found in form.finditer(text):
            name = found["user"].rstrip(".")
            if is_a_name(name):
                start = found.start("user")
                yield Found(start, start + len(name), "user", name)


def is_a_name(word: str) -> bool:
    """Whether an account is called so that somebody is known by it."""
    return word.lower() not in NOBODY and not word.replace("_", "").isdigit()

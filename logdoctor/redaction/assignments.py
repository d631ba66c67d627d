"""Secrets that only what stands before them gives away: a header, a URL, a setting named PASSWORD."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from logdoctor.redaction.found import Found, within
from logdoctor.regexes import later

_VALUE = r"(?:\"(?P<v>[^\"\n]{1,4000})\"|'(?P<v>[^'\n]{1,4000})'|(?P<v>[^\s,;&'\"<>(){}\[\]|]{1,4000}))"
_WORD = (
    r"pass(?:wor[dt]|wd|phrase)|pwd|secrets?|token|credentials?|signature|"
    r"(?:api|access|secret|private|account|auth|signing|encryption|license|client|service|session|shared|ssh|storage|"
    r"master|admin|root|subscription|app)[_.-]?key(?:[_-]?id)?"
)
_NAMED = later(rf"(?i)(?:{_WORD})_?\d{{0,2}}[\"']?\s{{0,4}}(?P<sign>=>|[:=])\s{{0,4}}{_VALUE}")
_BEFORE = later(r"[\w.-]{0,80}$")
_HINT = later(r"(?i)pass|pwd|secret|token|credential|key|signature")
_OPTION = later(rf"(?i)(?<!\S)--?[\w-]{{0,60}}?(?:{_WORD})(?P<sign>[ =])(?!-){_VALUE}")
_SAID = later(
    r"(?i)\b(?:api|access|secret|auth|bearer|private|session|refresh|id|security)[ _-](?:key"
    r"|token)\b(?: (?:is|was|provided|given|used|found))?[:=]?\s{1,3}"
    r"['\"(]?(?P<v>(?=\S{0,80}\d)[\w+/.~-]{16,400}={0,2})"
)

FORMS = (
    (
        "authorization",
        later(
            r"(?i)\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s+)?"
            r"(?P<v>AWS4-HMAC-SHA256[^\n\"']{1,2000}|[^\s'\",]{4,4000})"
        ),
    ),
    ("authorization", later(r"(?i)\b(?:bearer|basic)\s+(?P<v>(?=\S{0,200}[\d=])[\w.~+/-]{16,4000}={0,2})")),
    (
        "cookie",
        later(
            r"(?i)\b(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
            r"(?P<v>[\w.-]{1,80}=[^\s'\"]{6,4000}(?:; ?[\w.-]{1,80}=[^\s;'\"]{1,4000})*)"
        ),
    ),
    ("url-password", later(r"(?i)\b[a-z][a-z0-9+.-]{1,20}://(?P<v>[^/\s:@'\"]{0,200}:[^/\s@'\"]{1,400})@(?=[\w\[])")),
    ("url-password", later(r"(?i)\b(?:https?|git)://(?P<v>[\w-]{20,200})@(?=\w)")),
    (
        "url-signature",
        later(
            r"(?i)[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token|credential)|key"
            r"|code)=(?P<v>[\w%+/.~-]{12,4000}=?=?)"
        ),
    ),
    (
        "password",
        later(
            r"(?i)\b(?:curl|wget|http)\b[^\n]{0,300}?\s(?:-u|--user)[ =]['\"]?[^:\s'\"]{1,80}:(?P<v>[^\s'\"]{1,200})"
        ),
    ),
    (
        "password",
        later(
            r"(?i)\b(?:sshpass|(?:docker|podman|nerdctl|helm registry|oras|az"
            r"|ngc)\s+login\b[^\n]{0,200}?)\s-p ?['\"]?(?P<v>[^\s'\"-][^\s'\"]{0,200})"
        ),
    ),
    ("password", later(r"(?i)\bmysql(?:dump)?\b[^\n]{0,200}?\s-p(?P<v>[^\s'\"]{4,100})")),
    ("password", later(r"(?i)\blogin\s+\S{1,80}\s+password\s+(?P<v>\S{1,200})")),
    ("password", later(r"(?i)\b(?:requirepass|masterauth)\s+(?P<v>\S{4,200})")),
)
"""What comes before a secret says its kind."""

_NOTHING = frozenset(
    "none null nil true false yes no on off set unset empty missing required invalid expired incorrect denied "
    "unknown not default optional undefined redacted hidden masked secret password token file env str string int "
    "bytes n/a na".split()
)
_OF_TEXT = frozenset(
    "bos eos pad unk mask sep cls image video audio special next first last per new each unknown prompt stop "
    "start end max num min avg n draft eot eod fim extra current previous sample label input output target think "
    "boi eoi added decoder encoder generated vocab begin unexpected invalid bad single some one any this every by "
    "of a the continuation cancellation cancel language sub subword word img vision time latent query "
    "placeholder".split()
)
"""What a token of a language model is called."""


def assignments_in(text: str) -> Iterator[Found]:
    """The secrets in ``text`` that a name, a header or a URL gives away."""
    for kind, form in FORMS:
        for found in form.finditer(text):
            yield within(found, "secret", kind, "v")
    if not _HINT.search(text):
        return
    for form in (_NAMED, _OPTION):
        for found in form.finditer(text):
            name, sign = _name(found, text), found["sign"].strip()
            if _is_secret(name, sign, found["v"], quoted=text[found.start("v") - 1] in "'\""):
                yield within(found, "secret", _kind(name), "v")
    for found in _SAID.finditer(text):
        yield within(found, "secret", "token", "v")


def _name(found: regex.Match[str], text: str) -> str:
    """The whole name, of which the match holds the end: the beginning may be long."""
    before = _BEFORE.search(text, max(0, found.start() - 80), found.start())
    return (before.group() if before else "") + text[found.start() : found.start("sign")].strip(" \t\"'")


def _kind(name: str) -> str:
    name = name.lower()
    return next((kind for kind in ("pass", "pwd", "token", "key") if kind in name), "secret").replace(
        "pass", "password"
    )


def _is_secret(name: str, sign: str, value: str, *, quoted: bool) -> bool:
    """Whether ``value`` looks like what ``name`` says: many a token is a word of a language model."""
    if value.strip(".,*x•-").lower() in _NOTHING or not value.strip(".,*xX•-_") or value[0] in "$<{%*[(":
        return False
    lowered = name.lower()
    if lowered.endswith(("password", "passwd", "passphrase", "passwort", "pwd")):
        return not (value.startswith("/") and "pwd" in lowered) and (
            sign != ":" or quoted or not value.strip(".,!?").isalpha()
        )
    if value.startswith(("/", "./", "~/")) or "::" in value:
        return False
    if "token" in lowered and name != name.upper():
        before = lowered.rpartition("token")[0].rstrip("_-. ").replace("-", "_").rpartition("_")[2].rpartition(".")[2]
        return before not in _OF_TEXT and len(value) >= 10 and _is_mixed(value)
    if name == name.upper():
        return len(value) >= 6 and not _is_number(value)
    return len(value) >= 8 and _is_mixed(value)


def _is_mixed(value: str) -> bool:
    """Not a word and not a number, but of letters and digits."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value) and not _is_number(value)


def _is_number(value: str) -> bool:
    return value.replace(".", "").replace(",", "").replace("e", "").replace("-", "").replace("+", "").isdigit()

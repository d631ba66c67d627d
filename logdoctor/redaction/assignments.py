"""Secrets that are recognised by the text before them.

That text is a header, a URL or the name of a setting: ``PASSWORD=``.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

from logdoctor.pack.regexes import later
from logdoctor.redaction.spans import Span, group_span

_VALUE = r"(?:\"(?P<v>[^\"\n]{1,4000})\"|'(?P<v>[^'\n]{1,4000})'|(?P<v>[^\s,;&'\"<>(){}\[\]|]{1,4000}))"
_WORD = (
    r"pass(?:wor[dt]|wd|phrase)|pwd|secrets?|token|credentials?|signature|"
    r"(?:api|access|secret|private|account|auth|signing|encryption|license|client|service|session|shared|ssh|storage|"
    r"master|admin|root|subscription|app)[_.-]?key(?:[_-]?id)?"
)
_SETTING = later(rf"(?i)(?:{_WORD})_?\d{{0,2}}[\"']?\s{{0,4}}(?P<sign>=>|[:=])\s{{0,4}}{_VALUE}")
_NAME_START = later(r"[\w.-]{0,80}$")
_HINT = later(r"(?i)pass|pwd|secret|token|credential|key|signature")
_OPTION = later(rf"(?i)(?<!\S)--?[\w-]{{0,60}}?(?:{_WORD})(?P<sign>[ =])(?!-){_VALUE}")
_IN_SENTENCE = later(
    r"(?i)\b(?:api|access|secret|auth|bearer|private|session|refresh|id|security)[ _-](?:key"
    r"|token)\b(?: (?:is|was|provided|given|used|found))?[:=]?\s{1,3}"
    r"['\"(]?(?P<v>(?=\S{0,80}\d)[\w+/.~-]{16,400}={0,2})"
)

PATTERNS = (
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
"""Types of secrets with their patterns. The group ``v`` is the secret."""

_PLACEHOLDERS = frozenset(
    "none null nil true false yes no on off set unset empty missing required invalid expired incorrect denied "
    "unknown not default optional undefined redacted hidden masked secret password token file env str string int "
    "bytes n/a na".split()
)
_TOKEN_NAMES = frozenset(
    "bos eos pad unk mask sep cls image video audio special next first last per new each unknown prompt stop "
    "start end max num min avg n draft eot eod fim extra current previous sample label input output target think "
    "boi eoi added decoder encoder generated vocab begin unexpected invalid bad single some one any this every by "
    "of a the continuation cancellation cancel language sub subword word img vision time latent query "
    "placeholder".split()
)
"""Words before "token" for a token of a language model: ``eos_token``."""


def find_assignments(text: str) -> Iterator[Span]:
    """Yield the secrets in ``text``. In ``DB_PASSWORD=Xy7!kq`` the secret is ``Xy7!kq``."""
    for secret, pattern in PATTERNS:
        for match in pattern.finditer(text):
            yield group_span(match, "secret", secret, "v")
    if not _HINT.search(text):
        return
    for pattern in (_SETTING, _OPTION):
        for match in pattern.finditer(text):
            name, sign = _full_name(match, text), match["sign"].strip()
            if _is_secret(name, sign, match["v"], quoted=text[match.start("v") - 1] in "'\""):
                yield group_span(match, "secret", _type(name), "v")
    for match in _IN_SENTENCE.finditer(text):
        yield group_span(match, "secret", "token", "v")


def _full_name(match: regex.Match[str], text: str) -> str:
    """Return the name of a setting. ``match`` holds only its end: ``PASSWORD`` of ``MYSQL_PASSWORD``."""
    start = _NAME_START.search(text, max(0, match.start() - 80), match.start())
    return (start.group() if start else "") + text[match.start() : match.start("sign")].strip(" \t\"'")


def _type(name: str) -> str:
    """Return the type of secret for a setting: ``MYSQL_PASSWORD`` gives "password"."""
    name = name.lower()
    word = next((word for word in ("pass", "pwd", "token", "key") if word in name), "secret")
    return word.replace("pass", "password")


def _is_secret(name: str, sign: str, value: str, *, quoted: bool) -> bool:
    """Return True if ``value`` looks like a secret.

    Placeholders, paths and tokens of language models do not. ``sign`` is ``=``, ``:``, ``=>`` or "".
    """
    if value.strip(".,*x•-").lower() in _PLACEHOLDERS or not value.strip(".,*xX•-_") or value[0] in "$<{%*[(":
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
        return before not in _TOKEN_NAMES and len(value) >= 10 and _is_mixed(value)
    if name == name.upper():
        return len(value) >= 6 and not _is_number(value)
    return len(value) >= 8 and _is_mixed(value)


def _is_mixed(value: str) -> bool:
    """Return True for letters mixed with digits, except numbers such as 1e5."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value) and not _is_number(value)


def _is_number(value: str) -> bool:
    return value.replace(".", "").replace(",", "").replace("e", "").replace("-", "").replace("+", "").isdigit()

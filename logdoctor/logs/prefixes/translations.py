r"""Journal prefixes with a month in another language.

Examples: ``11月 15 14:15:47 gpu07 kernel:`` and ``kvě 25 14:15:47 gpu07 kernel:``.
journalctl prints the month in the user's locale (strftime ``%b``), the rest as in English.  The time is not read, only
host, program and pid.  A month that begins with a non-ASCII letter is not recognised, because no prefix begins so.
"""

from __future__ import annotations

import string

from logdoctor.logs.record_pattern import Prefix
from logdoctor.logs.syslog_programs import read_program
from logdoctor.logs.timestamps import LEVEL

_ENGLISH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
_MONTH = rf"(?!{_ENGLISH})(?:\d{{1,2}} ?[月월]|[^\W\d_]{{3,5}}\.?)"
_PROGRAM = r"(?:(?P<logger>[\w./()-]{1,64})\[(?P<pid>\d{1,10})\]|(?P<logger2>kernel|systemd)): ?"

PREFIXES: tuple[Prefix, ...] = (
    Prefix(
        "journal.localised",
        rf"{_MONTH} [ \d]\d \d\d:\d\d:\d\d (?!{LEVEL}\b)(?P<host>[A-Za-z0-9][\w.-]{{0,254}}) {_PROGRAM}",
        string.digits + string.ascii_letters,
        read_program,
        unless=("host", "logger"),
    ),
)

r"""The journal of a host that speaks another language: ``11月 15 14:15:47 gpu07 kernel:``, ``kvě 25 ...``.

journalctl prints the month in the words of the user's locale (strftime ``%b``); the rest is as in English.  The month
is not read: who spoke counts, and the lines stand in order.  Months of other alphabets do not come here: no prefix
begins with their letters.
"""

from __future__ import annotations

import string

from logdoctor.parsers.record import Wrapper
from logdoctor.parsers.shapes import WORD
from logdoctor.parsers.syslog_programs import read_program

_ENGLISH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) "
_MONTH = rf"(?!{_ENGLISH})(?:\d{{1,2}} ?[月월]|[^\W\d_]{{3,5}}\.?)"
_PROGRAM = r"(?:(?P<source>[\w./()-]{1,64})\[(?P<pid>\d{1,10})\]|(?P<source2>kernel|systemd)): ?"

WRAPPERS: tuple[Wrapper, ...] = (
    Wrapper(
        "journal.localised",
        rf"{_MONTH} [ \d]\d \d\d:\d\d:\d\d (?!{WORD}\b)(?P<host>[A-Za-z0-9][\w.-]{{0,254}}) {_PROGRAM}",
        string.digits + string.ascii_letters,
        read_program,
        unless=("host", "source"),
    ),
)

"""What the numbers and names in logs mean: Xids, errno, signals, exit codes, completion states, Slurm's reasons ...

A catalogue is ONE file ``data/<name>.tsv``; the folder is the list.  Its head (``# key: words``) says ``title`` and
``shown`` (how an entry is said in one line), both in Chinese too (``title_zh``, ``shown_zh``), ``explains`` (event
fields: a glob over kinds and a field, ``*.errno slurm.job_state.state``), ``source``, ``version``, ``checked`` and,
where another catalogue knows the rest, ``otherwise: NAME OFFSET`` (below zero: the number without its sign, above
OFFSET: what is over it) and ``yields: FIELD`` (not said where the event has that field, which knows better).  The
columns are ``code`` (a number, hexadecimal too, a range ``12000-12999``, a name, ``*`` for all that is not listed),
``name``, ``meaning``, ``meaning_zh``, ``blame`` and ``action`` (keys of ``words/``), and, as far as a catalogue has
them, ``says`` (the words that programs print for it, ``|`` between), ``follows`` (codes that bring this one about),
``group`` and whatever else rules and parsers ask for.

Nothing is read before somebody asks.  Floor 1: parsers, rules, reasoning and the command line look things up here.
"""

from __future__ import annotations

from logdoctor.catalogues.lookup import explain, explained_fields, follows, in_words, known_columns, meanings, values_of
from logdoctor.catalogues.table import Catalogue, Entry, catalogue, names

__all__ = [
    "Catalogue",
    "Entry",
    "catalogue",
    "explain",
    "explained_fields",
    "follows",
    "in_words",
    "known_columns",
    "meanings",
    "names",
    "values_of",
]

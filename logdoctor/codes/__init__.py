"""Tables of codes: Xids, errno, signals, exit codes, Slurm reasons and others.

Each catalogue is one file ``data/<name>.tsv``. Its head consists of lines ``# key: words``:

- ``title``: the subject of the catalogue.
- ``shown``: the template of an entry in one line, with ``{code}``, ``{name}``, ``{meaning}`` and ``{blame}``.
- ``title_zh``, ``shown_zh``: the same in Chinese.
- ``explains`` (optional): the fields whose values it explains, each as a glob over record kinds and a field:
  ``*.errno slurm.job_state.state``.
- ``source``, ``version``, ``checked``: the origin of the data.
- ``otherwise: NAME OFFSET`` (optional): the catalogue that explains all other codes. A negative number is looked up
  there without its sign. ``OFFSET`` is subtracted from a positive number.
- ``yields: FIELD`` (optional): the entry is left out for a record that has this field.

Its columns are:

- ``code``: a number (decimal or hexadecimal), a range ``12000-12999``, a name, or ``*`` for all other codes.
- ``name``, ``meaning``, ``meaning_zh``.
- ``blame``, ``action``: keys of ``words/``.
- ``says`` (optional): texts that programs print for the code, separated by ``|``.
- ``follows`` (optional): codes that cause this code.
- ``see`` (optional): signatures of failures that it is printed for.
- ``group`` and other columns that rules and formats ask for.

Files are read on first use only.
"""

from __future__ import annotations

from logdoctor.codes.lookup import (
    column_names,
    column_values,
    explain,
    explain_codes,
    explained_fields,
    find_entries,
    find_printed,
    follows,
)
from logdoctor.codes.table import Catalogue, Entry, catalogue, names

"""Callback of Lightning: ``Trainer(callbacks=[LogDoctor("slurm-*.out")])`` prints the answer when training fails."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from traceback import format_exception
from typing import Any

import logdoctor
from logdoctor.render.one_line import one_line

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class LogDoctor(Callback):  # type: ignore[misc]  # Lightning need not be installed
    """Diagnose ``logs`` (paths, folders, globs of this job) and the exception that ends the training.

    Rank 0 and the ranks to blame print the whole answer, each of the others the line of ``logdoctor -q``.
    """

    def __init__(self, *logs: str) -> None:
        self.logs = logs

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        del pl_module
        if not isinstance(exception, Exception):  # Ctrl-C and exits are no failures
            return
        own = io.BytesIO("".join(format_exception(exception)).encode())
        own.name = f"rank{trainer.global_rank}.log"  # the traceback itself is printed later
        with suppress(Exception):  # a fault of ours must not hide the exception
            diagnosis = logdoctor.diagnose([*self.logs, own])
            blamed = diagnosis.answer.culprit.ranks if diagnosis.answer else ()
            is_whole = trainer.global_rank in (0, *blamed)
            sys.stderr.write(f"{diagnosis}\n" if is_whole else one_line(diagnosis))

"""The terminal report: the answer first, then proof, advice and fallout.

It fits the width of the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from logdoctor.model import Diagnosis, Problem
from logdoctor.render.columns import pad, shorten, shorten_path, text_width, wrap
from logdoctor.render.rank_table import RankLine
from logdoctor.render.report import Answer, Fallout, Proof, RenderOptions, Report, report

_STYLES = {"failed": "1;31", "finished": "1;32"}
_OTHER_STYLE = "1;33"
_CODE = "36"
_MOST_PROOFS, _MOST_ROWS, _MOST_UNEXPLAINED = 8, 12, 3
_SHORT = 24
"""Lines of a report on one screen.  A longer one leaves out what was checked."""
_DECISIVE_LINES, _OTHER_LINES = 3, 2
_LEAST_ROOM = 36
"""In fewer columns a text goes below its label, not beside it."""
_NARROWEST, _WIDEST = 40, 140
"""Limits on the width. Very long lines are hard to read."""

Lines = Iterator[str]


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    """Return the report of ``diagnosis`` as lines for a terminal.

    They have ``options.width`` columns, but at least 40 and at most 140. No line ends in spaces.
    """
    texts = report(diagnosis, options.words)
    layout = _Layout(options, min(max(options.width, _NARROWEST), _WIDEST))
    if options.quiet:
        lines: Iterable[str] = [layout.first_line(texts)]
    elif texts.calm:
        lines = layout.calm(texts)
    else:
        lines = layout.failure(texts)
    return "".join(f"{line.rstrip()}\n" for line in lines)


class _Layout(Struct, frozen=True):
    """The parts of a report as lines of ``width`` columns."""

    options: RenderOptions
    width: int

    # ── the page ────────────────────────────────────────────────────────────────────────────────────────────────

    def first_line(self, report: Report) -> str:
        """Return the answer on one line, for chats and ``grep``."""
        confidence = f" · {report.answer.confidence_text}" if report.answer else ""
        return f"{self.mark(report)} {report.headline}{confidence}"

    def mark(self, report: Report) -> str:
        return self.paint(report.mark, _STYLES.get(report.verdict, _OTHER_STYLE))

    def calm(self, report: Report) -> Lines:
        words = self.options.words
        coverage = f"{words('read.verb')} {self.coverage(report)}"
        coverage += words("and") + words("read.part") if report.problems else ""
        first, *rest = wrap(report.headline + words("stop") + coverage + words("stop"), self.width - 2)
        yield f"{self.mark(report)} {first}"
        yield from (f"  {line}" for line in rest)
        if report.verdict != "finished":
            yield from self.heading(words("do"), report.do)
            yield from self.numbered(report.collect)
        yield from self.bullets("runs", report.runs)
        yield from self.not_read(report.problems)

    def failure(self, report: Report) -> Lines:
        """Return the report, with what was checked if both fit on one screen."""
        lines = [*self.parts(report)]
        checks = [*self.bullets("checked", report.answer.checks)] if report.answer and report.answer.checks else []
        foot = [*self.foot(report)]
        return iter([*lines, *(checks if len(lines) + len(checks) + len(foot) <= _SHORT else ()), *foot])

    def parts(self, report: Report) -> Lines:
        words = self.options.words
        yield from self.headline(report)
        if report.answer:
            yield from self.answer(report.answer)
        for other in report.other_faults:
            yield from self.fault(other)
        unknown = report.verdict == "unknown"
        if report.unexplained:
            heading, most = ("seen", _MOST_PROOFS) if unknown else ("seen.beside", _MOST_UNEXPLAINED)
            yield from self.heading(words(heading))
            yield from self.proofs(report.unexplained, most)
        yield from self.bullets("suspects", report.suspects)
        yield from self.bullets("missing", report.gaps)
        yield from self.alternatives(report, unknown=unknown)
        yield from self.rows("fallout", report.fallout)
        yield from self.rows("symptoms.unknown" if unknown else "symptoms", report.symptoms)
        yield from self.rows("ranks", [_rank_row(line) for line in report.ranks])
        yield from self.bullets("runs", report.runs)
        if report.collect:
            yield from self.heading(words("collect"), report.do)
            yield from self.numbered(report.collect)

    # ── its parts ───────────────────────────────────────────────────────────────────────────────────────────────

    def headline(self, report: Report) -> Lines:
        confidence = report.answer.confidence_text if report.answer else ""
        gap = self.width - text_width(f"{report.mark} {report.headline}{confidence}")
        first, *rest = wrap(report.headline, self.width - 2)
        tail = " " * gap + self.dim(confidence) if confidence and gap >= 3 else ""
        yield f"{self.mark(report)} {self.paint(first, '1')}{tail}"
        yield from (f"  {self.paint(line, '1')}" for line in rest)
        if report.answer:
            yield from self.indented(report.answer.summary, 2)
        if confidence and not tail:
            yield f"  {self.dim(confidence)}"

    def answer(self, answer: Answer) -> Lines:
        words = self.options.words
        if answer.proofs:
            yield from self.heading(words("proof"))
            yield from self.proofs(answer.proofs, _MOST_PROOFS)
        yield from self.heading(words("do"), answer.action_text)
        if answer.owner:
            yield from self.indented(f"{words('owner')}{words('colon')}{answer.owner}", 4)
        yield from self.numbered(answer.remedies)
        if answer.references:
            yield from self.heading(words("references"))
            for reference in answer.references:
                yield from self.indented(reference, 4)

    def fault(self, other: Answer) -> Lines:
        """Return a second fault with its proof and remedies, in less room."""
        yield from self.heading(self.options.words("also"), other.confidence_text)
        yield from self.indented(f"{other.signature} — {other.title}", 4)
        yield from self.indented(other.summary, 4)
        yield from self.proofs(other.proofs, 2)
        yield from self.indented(self.options.words("do.short", doing=other.action_text), 4)
        yield from self.numbered(other.remedies)

    def alternatives(self, report: Report, *, unknown: bool) -> Lines:
        if report.alternatives:
            yield from self.heading(self.options.words("guesses" if unknown else "instead"))
        for other in report.alternatives:
            yield from self.indented(f"{other.signature} — {other.title} · {other.confidence_text}", 4, 6)
            yield from self.indented(other.summary, 6)
            yield from self.proofs(other.proofs, 1, margin=6)

    def foot(self, report: Report) -> Lines:
        words = self.options.words
        coverage = self.coverage(report) + words("and") + words("read.part" if report.problems else "read.all")
        rows = [(words("job"), report.job), (words("progress"), report.progress), (words("read"), coverage)]
        rows = [row for row in rows if row[1]]
        room = max(text_width(label) for label, _ in rows)
        yield ""
        for label, text in rows:
            first, *rest = wrap(text, self.width - room - 4)
            yield f"  {self.paint(pad(label, room), '1')}  {first}"
            yield from (" " * (room + 4) + line for line in rest)
        yield from self.not_read(report.problems)

    def not_read(self, problems: Sequence[Problem]) -> Lines:
        if problems:
            yield from self.heading(self.options.words("notread"))
        for problem in problems[:_MOST_ROWS]:
            parts = ": ".join(part for part in (problem.where, problem.what, problem.why) if part)
            yield from self.indented(parts, 4, 6)
            if problem.help:
                yield from self.indented(problem.help, 6)
        yield from self.more(len(problems) - _MOST_ROWS)

    def coverage(self, report: Report) -> str:
        """Return how much was read, and how long that took if known."""
        elapsed = self.options.elapsed
        return report.coverage + ("" if elapsed is None else self.options.words("read.time", seconds=f"{elapsed:.2f}"))

    # ── lines of proof ──────────────────────────────────────────────────────────────────────────────────────────

    def proofs(self, proofs: Sequence[Proof], most: int, margin: int = 4) -> Lines:
        """Return the first ``most`` proofs, with locations left of log lines.

        Without room for both, each line goes below its location.
        """
        first = proofs[:most]
        left = max((text_width(proof.location) for proof in first), default=0) + 2
        room = self.width - margin - left
        beside = room >= _LEAST_ROOM and left <= max(26, self.width // 3)
        for number, proof in enumerate(first):
            limit = _OTHER_LINES if number else _DECISIVE_LINES
            if beside:
                lines = self.proof(proof, room, limit)
                yield " " * margin + self.dim(pad(proof.location, left)) + next(lines)
                yield from (" " * (margin + left) + line for line in lines)
            else:
                yield " " * margin + self.dim(shorten_path(proof.location, self.width - margin))
                yield from (" " * (margin + 2) + line for line in self.proof(proof, self.width - margin - 2, limit))
        yield from self.more(len(proofs) - most)

    def proof(self, proof: Proof, room: int, most: int) -> Lines:
        """Return a log line in at most ``most`` lines of ``room`` columns.

        The reason why it matters follows on the last of these lines if it fits, or else below.
        """
        lines = _wrap_shortened(proof.text, room, most)
        why = f"← {proof.why}" if proof.why else ""
        gap = room - text_width(lines[-1]) - text_width(why)
        if why and gap >= 3:
            lines[-1] += " " * gap + self.dim(why)
            why = ""
        yield from lines
        if why:
            yield from (self.dim(line) for line in wrap(why, room))

    def rows(self, heading: str, rows: Sequence[Fallout]) -> Lines:
        if not rows:
            return
        yield from self.heading(self.options.words(heading))
        first = rows[:_MOST_ROWS]
        affected = max(text_width(row.affected) for row in first) + 2
        signature = max(text_width(row.signature) for row in first) + 2
        for row in first:
            if self.width - 4 - affected - signature >= _LEAST_ROOM:
                yield from self.row(pad(row.affected, affected) + pad(row.signature, signature), row)
            else:
                yield from self.indented(pad(row.affected, affected) + row.signature, 4)
                yield from self.row("  ", row)
        yield from self.more(len(rows) - len(first))

    def row(self, left: str, row: Fallout) -> Lines:
        """Return the description beside ``left``. The location follows at the right edge or below."""
        margin = 4 + text_width(left)
        room = self.width - margin
        location = shorten_path(row.location, room)
        lines = wrap(row.description, room)
        gap = room - text_width(lines[-1]) - text_width(location)
        if location and gap >= 2:
            lines[-1] += " " * gap + self.dim(location)
        elif location:
            lines.append(self.dim(location))
        yield "    " + left + lines[0]
        yield from (" " * margin + line for line in lines[1:])

    # ── small forms ─────────────────────────────────────────────────────────────────────────────────────────────

    def heading(self, text: str, more: str = "") -> Lines:
        yield ""
        first, *rest = wrap(f"{text} — {more}" if more else text, self.width - 2)
        styled = self.paint(first[: len(text)], "1") + first[len(text) :] if first.startswith(text) else first
        yield f"  {styled}"
        yield from (f"  {line}" for line in rest)

    def numbered(self, texts: Sequence[str]) -> Lines:
        for number, text in enumerate(texts, 1):
            label = f"{number}. "
            first, *rest = self.paint_code(wrap(text, self.width - 4 - len(label)))
            yield f"    {label}{first}"
            yield from (" " * (4 + len(label)) + line for line in rest)

    def paint_code(self, lines: Iterable[str]) -> Lines:
        """Paint the text between backticks, which may go over several lines.

        The backticks stay, because without colour only they show the end of a command.
        """
        inside = False
        for line in lines:
            parts = line.split("`")
            yield "`".join(self.paint(p, _CODE) if (n % 2 == 1) != inside else p for n, p in enumerate(parts))
            inside ^= len(parts) % 2 == 0

    def bullets(self, heading: str, texts: Sequence[str]) -> Lines:
        if texts:
            yield from self.heading(self.options.words(heading))
        for text in texts:
            first, *rest = wrap(text, self.width - 6)
            yield f"    - {first}"
            yield from (f"      {line}" for line in rest)

    def indented(self, text: str, margin: int, hanging: int | None = None) -> Lines:
        if not text:
            return
        hanging = margin if hanging is None else hanging
        first, *rest = wrap(text, self.width - max(margin, hanging))
        yield " " * margin + first
        yield from (" " * hanging + line for line in rest)

    def more(self, number: int) -> Lines:
        if number > 0:
            yield "    " + self.dim(self.options.words("more", n=f"{number:,}"))

    def dim(self, text: str) -> str:
        return self.paint(text, "2")

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.options.color and text else text


def _rank_row(line: RankLine) -> Fallout:
    """Convert a line of the rank table to a row."""
    description = " · ".join(part for part in (line.host, line.progress, line.failure) if part)
    return Fallout(line.ranks, line.role, description, line.location)


def _wrap_shortened(text: str, room: int, most: int) -> list[str]:
    """Wrap ``text`` into at most ``most`` lines. It is shortened no more than needed."""
    budget = room * most
    while True:
        lines = wrap(shorten(text, budget), room)
        if len(lines) <= most or budget <= room // 2:
            return lines[:most]
        budget -= max(room // 12, 1)

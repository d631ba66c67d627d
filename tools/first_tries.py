"""The first try on threads whose end is known: ``python tools/first_tries.py`` writes its table into docs/accuracy.md.

Each row of ``first_tries.tsv`` is a thread that confirms what mended a failure. Its printed lines were diagnosed before
anything was learnt from it, and the answer was marked strictly: cause (right, blurred, wrong, abstained, green), first
sentence (true, partly, false), decision (right, wrong, harmful), mend (fixes: a step is the confirmed mend; helps: a
step leads there; none), step 1 (yes: it is the mend or leads straight to it), and expert (yes: an expert would know it
from these lines alone). The lines belong to others and are not kept.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS, PAGE = ROOT / "tools" / "first_tries.tsv", ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- first tries: made by tools/first_tries.py -->", "<!-- end of first tries -->"
FAMILIES = {
    "hang": "hangs, rendezvous, addresses",
    "launch": "launch, containers, NCCL set-up, fabrics, drivers",
    "memory": "memory, checkpoints, exceptions of frameworks",
    "mpi": "MPI, Slurm, Kubernetes, Ray",
}
COLUMNS = (
    *("threads", "how many", "cause right", "sentence true", "decision right", "a step is the mend", "step 1 is it"),
    "wholly right",
)
Row = Mapping[str, str]


def read_rows() -> list[Row]:
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, delimiter="\t")]


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each family and batch, and one for all."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"| {' | '.join('---' for _ in COLUMNS)} |"
    ordered = sorted(rows, key=lambda row: (row["family"], row["batch"]))
    for (family, batch), batch_rows in groupby(ordered, key=lambda row: (row["family"], row["batch"])):
        yield _line(f"{FAMILIES[family]}, batch {batch}", [*batch_rows])
    for batch in sorted({row["batch"] for row in rows}):
        yield _line(f"**all, batch {batch}**", [row for row in rows if row["batch"] == batch])


def _line(name: str, rows: Sequence[Row]) -> str:
    def share(count: int) -> str:
        return f"{count} ({count / len(rows):.0%})"

    cells = (
        name,
        str(len(rows)),
        share(_count(rows, cause="right")),
        share(_count(rows, sentence="true")),
        share(_count(rows, decision="right")),
        share(_count(rows, mend="fixes")),
        share(_count(rows, step1="yes")),
        share(_count(rows, cause="right", sentence="true", decision="right", mend="fixes")),
    )
    return f"| {' | '.join(cells)} |"


def _count(rows: Iterable[Row], **wanted: str) -> int:
    return sum(all(row[name] == value for name, value in wanted.items()) for row in rows)


def with_table(page: str) -> str:
    """Return the page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = "\n".join(table(read_rows()))
    return f"{before}{BEGIN}\n{lines}\n{END}{after}"


def main() -> None:
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

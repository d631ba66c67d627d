"""What PyTorch's comparison of collectives tells: which rank stands apart."""

from __future__ import annotations

from detector_probe import derive

from logdoctor import diagnose
from logdoctor.model import Record
from logdoctor.reasoning.detectors.fingerprints import Detector


def says(rank: int, op: str, other: int, other_op: str) -> str:
    calls = [
        f"Rank {r} is running collective: CollectiveFingerPrint(SequenceNumber=33, OpType={o}, TensorShape=[4], "
        "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda))"
        for r, o in ((rank, op), (other, other_op))
    ]
    return (
        f"[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. {calls[0]}, but {calls[1]}."
        f"Collectives differ in the following aspects: Op type: {op}vs {other_op}\n"
    )


FOUR = (
    says(0, "ALLREDUCE", 2, "BROADCAST")
    + says(1, "ALLREDUCE", 2, "BROADCAST")
    + says(2, "BROADCAST", 0, "ALLREDUCE")
    + says(3, "ALLREDUCE", 2, "BROADCAST")
)


def derived(text: str) -> list[Record]:
    return derive(Detector(), text)


def test_the_rank_with_another_fingerprint_than_most_is_odd() -> None:
    record = derived(FOUR)[0]
    assert record.fields["odd"] == (2,)
    assert record.fields["other_op"] == "BROADCAST of [4]"


def test_two_ranks_alone_are_the_two_that_differ() -> None:
    both = says(0, "ALLREDUCE", 1, "BROADCAST") + says(1, "BROADCAST", 0, "ALLREDUCE")
    assert derived(both)[0].fields["odd"] == (0, 1)
    assert derived(says(3, "ALLREDUCE", 6, "BROADCAST"))[0].fields["odd"] == (3, 6)


def test_of_two_equal_sides_none_is_odd() -> None:
    assert derived("".join(says(r, "ALLREDUCE", r + 1, "BROADCAST") for r in (0, 2))) == []


def test_the_own_word_of_a_rank_counts_more_than_what_another_reads_of_it() -> None:
    text = says(0, "ALLREDUCE", 1, "GATHER") + says(1, "ALLREDUCE", 2, "REDUCE") + says(2, "BARRIER", 0, "GATHER")
    assert derived(text)[0].fields["odd"] == (2,)


def test_the_odd_rank_is_named_though_another_one_spoke_first(tmp_path) -> None:
    (tmp_path / "job.log").write_text(FOUR)
    first = diagnose([str(tmp_path / "job.log")]).causes[0]
    assert (first.signature, first.culprit.ranks) == ("collective.desync", (2,))

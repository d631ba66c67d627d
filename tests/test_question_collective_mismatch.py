"""Ranks that run another collective, by PyTorch's comparison."""

from __future__ import annotations

from question_probe import derive

from logdoctor import diagnose
from logdoctor.model import Record
from logdoctor.reasoning.questions.comparisons import collective_mismatch


def mismatch_message(rank: int, op: str, other: int, other_op: str) -> str:
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
    mismatch_message(0, "ALLREDUCE", 2, "BROADCAST")
    + mismatch_message(1, "ALLREDUCE", 2, "BROADCAST")
    + mismatch_message(2, "BROADCAST", 0, "ALLREDUCE")
    + mismatch_message(3, "ALLREDUCE", 2, "BROADCAST")
)


def derive_records(text: str) -> list[Record]:
    return derive(collective_mismatch, text)


def test_rank_with_another_fingerprint_than_most_is_odd() -> None:
    record = derive_records(FOUR)[0]
    assert record.fields["odd"] == (2,)
    assert (record.fields["other_op"], record.fields["other_op_shape"]) == ("BROADCAST", "4")


def test_two_ranks_alone_are_both_named() -> None:
    both = mismatch_message(0, "ALLREDUCE", 1, "BROADCAST") + mismatch_message(1, "BROADCAST", 0, "ALLREDUCE")
    assert derive_records(both)[0].fields["odd"] == (0, 1)
    assert derive_records(mismatch_message(3, "ALLREDUCE", 6, "BROADCAST"))[0].fields["odd"] == (3, 6)


def test_two_equal_sides_have_no_odd_rank() -> None:
    assert derive_records("".join(mismatch_message(r, "ALLREDUCE", r + 1, "BROADCAST") for r in (0, 2))) == []


def test_message_of_a_rank_about_itself_wins_over_that_of_another() -> None:
    text = (
        mismatch_message(0, "ALLREDUCE", 1, "GATHER")
        + mismatch_message(1, "ALLREDUCE", 2, "REDUCE")
        + mismatch_message(2, "BARRIER", 0, "GATHER")
    )
    assert derive_records(text)[0].fields["odd"] == (2,)


def test_odd_rank_is_named_if_another_rank_printed_first(tmp_path) -> None:
    (tmp_path / "job.log").write_text(FOUR)
    first = diagnose([str(tmp_path / "job.log")]).causes[0]
    assert (first.signature, first.culprit.ranks) == ("collective.desync", (2,))

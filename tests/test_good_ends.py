"""Lines that show a good end, alone or together."""

from __future__ import annotations

import pytest
from failing_job import answer, diagnose_log

EPOCHS = ["epoch 0: 100%|##########| 4/4 [00:01<00:00]", "epoch 1: 100%|##########| 4/4 [00:01<00:00]"]
HALF = "epoch 1:  50%|#####     | 2/4 [00:01<00:01]"
FROM_ZERO = [f"Test: [{n:3d}/300]  eta: 0:00:01  time: 3.1  data: 0.1" for n in (0, 100, 200, 299)]
SUCCESS = "wandb: Waiting for W&B process to finish... (success)."
FAILED = "wandb: Waiting for W&B process to finish... (failed 1). Press Control-C to abort syncing."
CLOSED = [
    f"gx07:{pid}:{pid} [0] NCCL INFO comm 0x9f rank {rank} nranks 2 cudaDev 0 busId 1000 - Destroy COMPLETE"
    for rank, pid in enumerate((71, 72))
]
ROLL_CALL = [f"[{rank}] heat 1.4: process {rank} of 2 on gx07" for rank in (0, 1)]
STEPS = [f"[0] step {n}/3 loss 2.{n}" for n in (1, 2, 3)]
FINISHED = "[0] training finished after 3 steps"


def verdict(knowledge, *lines: str) -> str:
    return answer(diagnose_log("\n".join(lines) + "\n", knowledge))[0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*EPOCHS, SUCCESS], "finished"),
        ([*EPOCHS, FAILED], "no-end-seen"),
        ([EPOCHS[0], HALF, SUCCESS], "no-end-seen"),
        ([*EPOCHS], "no-end-seen"),
        ([*EPOCHS, SUCCESS, HALF], "no-end-seen"),
        ([*FROM_ZERO, *CLOSED], "finished"),
        ([*FROM_ZERO[:-1], *CLOSED], "no-end-seen"),
        ([*FROM_ZERO, CLOSED[0]], "no-end-seen"),
    ],
    ids=[
        "closed after a full bar",
        "failed",
        "half a bar",
        "full bar alone",
        "another bar follows",
        "last step counted from 0",
        "steps are missing",
        "only one of two processes closed",
    ],
)
def test_closing_after_the_last_step_of_its_count_is_a_good_end(knowledge, lines, expected):
    world = ["gx07:71:71 [0] NCCL INFO comm 0x9f rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE"]
    assert verdict(knowledge, *world, *lines) == expected


@pytest.mark.parametrize(
    ("others", "expected"),
    [([], "finished"), (["[1] step 2/3 loss 2.2"], "no-end-seen")],
    ids=["rank 0 speaks for all", "rank 1 worked and did not finish"],
)
def test_ranks_of_which_only_the_start_is_heard_need_not_tell_their_end(knowledge, others, expected):
    assert verdict(knowledge, *ROLL_CALL, *STEPS[:2], *others, STEPS[2], FINISHED) == expected


EVERY_SECOND = [f"step {step}/9 loss 2.1" for step in (2, 4, 6, 8)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*EVERY_SECOND, "done"], "finished"),
        ([*EVERY_SECOND[:2], "done"], "no-end-seen"),
        (["done", *EVERY_SECOND], "no-end-seen"),
        (["loading data", "done"], "no-end-seen"),
    ],
    ids=["no further step fits the count", "steps are missing", "work follows", "no work"],
)
def test_bare_done_is_a_good_end_only_after_the_last_step(knowledge, lines, expected):
    assert verdict(knowledge, *lines) == expected


NO_FAULT = "every pass done: 80 swaps, 0 mismatches"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([NO_FAULT, *CLOSED], "finished"),
        (["every pass done: 80 swaps, 2 mismatches", *CLOSED], "no-end-seen"),
        ([*CLOSED], "no-end-seen"),
        ([NO_FAULT], "no-end-seen"),
        ([NO_FAULT, CLOSED[0]], "no-end-seen"),
        ([NO_FAULT, "step 3 loss 2.1", *CLOSED], "no-end-seen"),
    ],
    ids=["none", "some", "no count", "not closed", "one of two closed", "work follows"],
)
def test_a_count_of_no_faults_is_an_end_if_a_library_closes_all(knowledge, lines, expected):
    world = [
        f"gx07:{pid}:{pid} [{rank}] NCCL INFO comm 0x9f rank {rank} nranks 2 cudaDev {rank} busId 1000 - Init COMPLETE"
        for rank, pid in enumerate((71, 72))
    ]
    assert verdict(knowledge, *world, *lines) == expected


@pytest.mark.parametrize(
    ("end", "later", "expected"),
    [
        ("tidy: finished: 75 files", [], "finished"),
        ("tidy: finished: 75 files", ["(sweep pid=812) part 9 read"], "finished"),
        ("tidy: finished: 75 files", ["step 3 loss 2.1"], "no-end-seen"),
        ("tidy: finished: 75 files, 4 left out", [], "no-end-seen"),
        ("tidy: evaluation finished: 75 files", [], "no-end-seen"),
    ],
    ids=["last line", "no work follows", "a step follows", "not all", "a part"],
)
def test_a_program_tells_its_end_by_its_count(knowledge, end, later, expected):
    assert verdict(knowledge, "step 1 loss 2.4", "step 2 loss 2.2", end, *later) == expected

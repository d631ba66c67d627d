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


PROMPTS = {
    "bash": "[kim@gx07 run7]$",
    "ubuntu": "kim@gx07:~/run7$",
    "root": "root@5f1c2a9e:/workspace#",
    "conda": "(torch) kim@gx07:~/run7$",
    "container": "sh-4.4#",
    "power shell": r"PS C:\work\run7>",
    "zsh": "➜",
    "bare": "$",
}
WORKED = ["step 1 loss 2.4", "step 2 loss 2.2"]
TIMES = ["", "real\t0m9.210s", "user\t0m28.380s", "sys\t0m20.800s"]
PORTABLE_TIMES = ["real 9.21", "user 28.38", "sys 20.80"]


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
@pytest.mark.parametrize(
    ("command", "lines", "last", "expected"),
    [
        ("mpirun -np 4 ./wave", WORKED, "", "finished"),
        ("mpirun -np 4 ./wave", WORKED, " exit", "finished"),
        ("mpirun -np 4 ./wave", WORKED, None, "no-end-seen"),
        ("mpirun -np 4 ./wave", ["step 1/9 loss 2.4", "step 2/9 loss 2.2"], "", "no-end-seen"),
        ("mpirun -np 4 ./wave", [*WORKED, "^C"], "", "no-end-seen"),
        ("mpirun -np 4 ./wave &", WORKED, "", "no-end-seen"),
        ("tail -f wave.log", WORKED, "", "no-end-seen"),
        ("kubectl logs wave-0", WORKED, "", "no-end-seen"),
        ("sbatch wave.sh", WORKED, "", "no-end-seen"),
        ("mpirun -np 4 ./wave", [*WORKED, "Segmentation fault (core dumped)"], "", "app.segfault"),
    ],
    ids="prompt exit no-prompt steps-left interrupted background viewed pod submitted failed".split(),
)
def test_prompt_below_the_last_command_is_an_end(knowledge, prompt, command, lines, last, expected):
    assert verdict(knowledge, f"{prompt} {command}", *lines, *([] if last is None else [prompt + last])) == expected


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_prompt_is_no_end_of_a_program_that_printed_no_work(knowledge, prompt):
    assert verdict(knowledge, f"{prompt} mpirun -np 4 ./wave", "reading tide.nml", prompt) != "finished"


@pytest.mark.parametrize("times", [TIMES, PORTABLE_TIMES], ids=["bash", "portable"])
@pytest.mark.parametrize("cut", range(4))
def test_times_of_the_command_are_an_end_unless_the_log_is_cut(knowledge, times, cut):
    lines = [*WORKED, *times]
    assert verdict(knowledge, *lines[: len(lines) - cut]) == ("no-end-seen" if cut else "finished")


TABLE = [
    "+------+------+",
    "| task | acc  |",
    "+------+------+",
    "| copy | 0.71 |",
    "| sort | 0.64 |",
    "+------+------+",
]
MARKDOWN = ["|task|acc |", "|----|---:|", "|copy|0.71|", "|sort|0.64|"]
FULL = ["step 1/2 loss 2.4", "step 2/2 loss 2.2"]
EVALUATED = ["***** Running Evaluation *****"]


@pytest.mark.parametrize("table", [TABLE, MARKDOWN], ids=["box", "markdown"])
@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        (EVALUATED, [], "finished"),
        (EVALUATED, ["", "========"], "finished"),
        (WORKED, [], "no-end-seen"),
        (["step 1/2 loss 2.4"], [], "no-end-seen"),
        (EVALUATED, ["reading the next part"], "no-end-seen"),
        ([*EVALUATED, *TABLE, "next"], [], "no-end-seen"),
    ],
    ids=["last", "rule below", "count without a total", "steps left", "more follows", "printed before"],
)
def test_table_of_results_is_an_end_if_no_work_is_left(knowledge, table, above, below, expected):
    assert verdict(knowledge, *above, *table, *below) == expected


@pytest.mark.parametrize("cut", range(1, len(TABLE)))
def test_cut_table_is_no_end(knowledge, cut):
    assert verdict(knowledge, *EVALUATED, *TABLE[:cut]) == "no-end-seen"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*EVALUATED, "Final accuracy: 71.4%"], "finished"),
        ([*EVALUATED, "overall bandwidth = 12.31 GB/s"], "finished"),
        ([*FULL, "Final accuracy: 71.4%"], "finished"),
        ([FULL[0], "Final accuracy: 71.4%"], "no-end-seen"),
        ([*EVALUATED, "Final accuracy: 70.1%", "part 2", "Final accuracy: 71.4%"], "no-end-seen"),
        ([*EVALUATED, "accuracy: 71.4%"], "no-end-seen"),
    ],
    ids=["accuracy", "bandwidth", "full count", "steps left", "several", "not final"],
)
def test_final_result_is_an_end_if_no_work_is_left(knowledge, lines, expected):
    assert verdict(knowledge, *lines) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["Epoch 1/2, step 5/10, loss 2.1", "Epoch 1/2, step 10/10, loss 2.0"], "no-end-seen"),
        (["Epoch 1/2, step 10/10, loss 2.1", "Epoch 2/2, step 5/10, loss 2.0"], "no-end-seen"),
        (
            ["Epoch 1/2, step 10/10, loss 2.1", "Epoch 2/2, step 5/10, loss 2.0", "Epoch 2/2, step 10/10, loss 2.0"],
            "finished",
        ),
    ],
    ids=["first epoch", "half an epoch", "last batch of the last epoch"],
)
def test_last_batch_of_the_last_epoch_is_an_end(knowledge, steps, expected):
    assert verdict(knowledge, *steps) == expected


STOPPED = (
    "INFO:     Application shutdown complete.",
    "INFO:     Finished server process [4121]",
    "[2031-02-03 11:00:02 +0000] [88] [INFO] Shutting down: Master",
    "Shutting down the gRPC server ... done",
    "2031-02-03 10:02:01,000 INFO engine: Engine stopped.",
    "2031-02-03 10:02:01,000 INFO gateway: all services have been shut down",
    "the scoring service exited gracefully",
)
ANSWERED = 'INFO:     10.0.3.4:51432 - "POST /v1/score HTTP/1.1" 200 OK'


@pytest.mark.parametrize("stopped", STOPPED)
@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        ([ANSWERED], [], "finished"),
        (["loaded 3 models"], [], "finished"),
        ([ANSWERED], ["Restarting in 5 s"], "no-end-seen"),
        ([ANSWERED], [ANSWERED] * 6, "no-end-seen"),
        ([ANSWERED, "step 3/9 loss 2.1"], [], "no-end-seen"),
        (["ERROR: cannot open the model: no such file"], [], "unknown"),
    ],
    ids=["answered", "no work known", "starts again", "works on", "steps are missing", "complained"],
)
def test_a_service_that_closes_in_order_has_ended(knowledge, stopped, above, below, expected):
    assert verdict(knowledge, *above, stopped, *below) == expected

"""Machine checks: their code tells a fault of the processor from one of the memory."""

from __future__ import annotations

import pytest
from failing_job import answer, diagnose_log

SIGNATURES = {"0400": "host.node-failure", "0405": "host.node-failure", "0005": "host.node-failure"}
SIGNATURES |= dict.fromkeys(("0090", "0091", "009f", "00c1"), "host.hw-memory")
FORMS = (
    "mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: be000000{model}{code}",
    "Mar 11 09:20:41 cn77 kernel: mce: [Hardware Error]: CPU 3: Machine Check Exception: 4 Bank 3: fe000000{model}{code}",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", ["0080", "0101"])
@pytest.mark.parametrize(("code", "signature"), SIGNATURES.items())
def test_code_of_a_machine_check_tells_the_processor_from_the_memory(knowledge, form, model, code, signature):
    check = form.format(model=model, code=code)
    below = "mce: [Hardware Error]: Machine check: Processor context corrupt"
    assert diagnose_log(f"step 4 loss 2.1\n{check}\n{below}\n", knowledge).causes[0].signature == signature


@pytest.mark.parametrize("first", "89cd")
def test_corrected_machine_check_is_no_fault(knowledge, first):
    check = f"mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 3: {first}800000000800400"
    assert answer(diagnose_log(f"{check}\nstep 4 loss 2.1\nTraining completed.\n", knowledge))[0] == "finished"

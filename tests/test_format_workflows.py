"""Nextflow and Snakemake: a step that is tried again ends nothing."""

from __future__ import annotations

from format_probe import kinds, read_record, records

RECORDS = records("workflows")


def test_message_of_a_failed_process_is_the_cause_of_nextflow():
    record = read_record(
        RECORDS,
        "ERROR ~ Error executing process > 'SORT (a1)'\n\nCaused by:\n  No such variable: seed\n\nCommand executed:\n",
    )
    assert record.fields == {"call": "SORT (a1)", "message": "No such variable: seed"}


def test_a_process_that_a_signal_ended_is_left_to_its_exit_code():
    assert (
        kinds(RECORDS, "Error executing process > 'X'\n\nCaused by:\n  Process `X` ended (exit status (137))\n") == []
    )


def test_a_step_that_is_tried_again_or_left_out_is_a_warning():
    text = (
        "[0a/b1] NOTE: Process `SORT (2)` terminated with an error exit status (1) -- Execution is retried (2)\n"
        "Error in rule sort:\n"
        "Error executing rule sort on cluster (jobid: 4, external: 8812)\n"
    )
    assert kinds(RECORDS, text) == ["workflow.failed"] * 3
    assert read_record(RECORDS, "Error in group job-7, which failed\n").level == "warning"


def test_slurm_end_of_a_snakemake_job_counts_without_a_restart():
    ended = "message: SLURM-job '8812' failed, SLURM status is: 'OUT_OF_MEMORY'. For further error details\n"
    assert read_record(RECORDS, ended).fields["state"] == "OUT_OF_MEMORY"
    assert kinds(RECORDS, f"{ended}    jobid: 4\n\nTrying to restart job 4.\n") == []


def test_kaldi_counts_the_parts_of_a_step_that_failed():
    record = read_record(RECORDS, "queue.pl: 3 / 20 failed, log is in exp/mono/log/acc.*.log")
    assert (record.kind, record.fields["failed"], record.fields["all"]) == ("workflow.failed", 3, 20)


def test_exception_of_snakemake_has_place_and_message():
    old = read_record(RECORDS, "NameError in line 36 of /w/rules/qc.smk:\nname 'lanes' is not defined\n")
    new = read_record(RECORDS, "NameError in file \"/w/rules/qc.smk\", line 36:\nname 'lanes' is not defined\n")
    for record in (old, new):
        assert record.text == record.fields["message"] == "NameError: name 'lanes' is not defined"
        assert record.fields["call"] == "line 36 of /w/rules/qc.smk"


def test_exception_before_a_restart_by_snakemake_is_no_failure():
    text = 'MissingOutputException in rule trim in file "/w/Snakefile", line 4:\nJob 3 completed.\n'
    assert kinds(RECORDS, text) == ["script.error"]
    assert kinds(RECORDS, f"{text}Trying to restart job 3.\n") == []

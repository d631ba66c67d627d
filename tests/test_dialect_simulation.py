"""The last words of simulation codes: which lines are the message, and who said it."""

from __future__ import annotations

from dialect_probe import kinds, one, read

from logdoctor.parsers.dialects.simulation import RECORDS
from logdoctor.parsers.dialects.simulation_chemistry import RECORDS as OF_CHEMISTRY
from logdoctor.parsers.dialects.simulation_earth import RECORDS as OF_EARTH
from logdoctor.parsers.dialects.simulation_engineering import RECORDS as OF_ENGINEERING


def test_a_framed_error_of_openfoam_is_one_event_of_the_rank_that_prints_it():
    seen = one(
        RECORDS,
        "[12] --> FOAM FATAL ERROR: \n"
        "[12] Continuity error cannot be removed\n"
        "[12] Specified mass inflow   : 1.2\n"
        "[12] \n"
        "[12]     From function adjustPhi\n"
        "FOAM parallel run exiting\n",
    )
    assert seen.fields["by_rank"] == 12
    assert seen.fields["message"] == "Continuity error cannot be removed Specified mass inflow   : 1.2"


def test_the_boxes_that_cp2k_draws_are_no_part_of_its_message():
    seen = one(
        RECORDS,
        " *   ___                                                  *\n"
        " * [ABORT]                                                *\n"
        " *  \\___/     The basis set BIG for kind Xx was not found *\n"
        " *    |       in the file BASIS_MOLOPT                    *\n"
        " *  O/|                                                   *\n"
        " * /| |                                                   *\n"
        " * / \\                                    basis.F:88      *\n"
        " **********************************************************\n",
    )
    assert seen.fields["message"] == "The basis set BIG for kind Xx was not found in the file BASIS_MOLOPT basis.F:88"


def test_a_bare_headline_without_a_message_is_no_error_of_gromacs():
    assert kinds(RECORDS, "Fatal error:\n\n") == []


def test_of_a_petsc_report_the_lines_that_only_help_are_passed_over():
    said = [
        seen.fields["message"]
        for seen in read(
            RECORDS,
            "[3]PETSC ERROR: --------------------- Error Message ---------------------\n"
            "[3]PETSC ERROR: Argument out of range\n"
            "[3]PETSC ERROR: See https://petsc.org/release/faq/ for trouble shooting.\n"
            "[3]PETSC ERROR: #1 VecGetValues() at /b/petsc/src/vec/vec/interface/rvector.c:1021\n",
        )
    ]
    assert said == ["Argument out of range"]


def test_wrf_says_on_which_host_a_rank_runs():
    assert one(RECORDS, " taskid: 20 hostname: node172").fields == {"by_rank": 20, "by_host": "node172"}


def test_of_an_exception_of_deal_ii_what_it_says_additionally_is_the_message():
    seen = one(
        OF_ENGINEERING,
        "An error occurred in line <402> of file </src/dof_handler.cc> in function\n"
        "    void dealii::DoFHandler<2>::distribute_dofs()\n"
        "The violated condition was: \n"
        "    tria != nullptr\n"
        "Additional information: \n"
        "    There is no triangulation\n"
        "    attached to this object.\n"
        "\n"
        "Stacktrace:\n",
    )
    assert seen.fields["message"] == "There is no triangulation attached to this object."


def test_where_deal_ii_has_nothing_to_add_the_condition_is_the_message():
    seen = one(
        OF_ENGINEERING,
        "An error occurred in line <88> of file <step.cc> in function\n"
        "    void run()\n"
        "The violated condition was: \n"
        "    n > 0\n"
        "Additional information: \n"
        "    (none)\n",
    )
    assert seen.fields["message"] == "n > 0"


def test_electrons_that_do_not_converge_end_quantum_espresso_only_where_it_says_that_it_stops():
    assert kinds(OF_CHEMISTRY, "     convergence NOT achieved after 100 iterations\n") == []
    assert kinds(OF_CHEMISTRY, "     convergence NOT achieved after 100 iterations: stopping\n") == ["simulation.fatal"]


def test_the_process_that_mitgcm_names_is_the_rank_and_its_warnings_are_no_end():
    assert one(OF_EARTH, "(PID.TID 0011.0001) *** ERROR *** INI_PARMS: no namelist\n").fields["rank"] == 11
    assert kinds(OF_EARTH, "(PID.TID 0011.0001) ** WARNING ** INI_PARMS: no namelist\n") == []

"""The last words of simulation codes: which lines are the message, and who said it."""

from __future__ import annotations

from format_probe import kinds, read, read_record, records

OF_FORTRAN = records("fortran")
RECORDS = records("simulation")
OF_BIOLOGY = records("simulation_biology")
OF_CHEMISTRY = records("simulation_chemistry")
OF_EARTH = records("simulation_earth")
OF_ENGINEERING = records("simulation_engineering")
OF_PHYSICS = records("simulation_physics")


def test_a_framed_error_of_openfoam_is_one_event_of_the_rank_that_prints_it():
    record = read_record(
        RECORDS,
        "[12] --> FOAM FATAL ERROR: \n"
        "[12] Continuity error cannot be removed\n"
        "[12] Specified mass inflow   : 1.2\n"
        "[12] \n"
        "[12]     From function adjustPhi\n"
        "FOAM parallel run exiting\n",
    )
    assert record.fields["by_rank"] == 12
    assert record.fields["message"] == "Continuity error cannot be removed Specified mass inflow   : 1.2"


def test_the_boxes_that_cp2k_draws_are_no_part_of_its_message():
    record = read_record(
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
    assert record.fields["message"] == "The basis set BIG for kind Xx was not found in the file BASIS_MOLOPT basis.F:88"


def test_a_bare_headline_without_a_message_is_no_error_of_gromacs():
    assert kinds(RECORDS, "Fatal error:\n\n") == []


def test_help_lines_of_a_petsc_report_are_skipped():
    messages = [
        record.fields["message"]
        for record in read(
            RECORDS,
            "[3]PETSC ERROR: --------------------- Error Message ---------------------\n"
            "[3]PETSC ERROR: Argument out of range\n"
            "[3]PETSC ERROR: See https://petsc.org/release/faq/ for trouble shooting.\n"
            "[3]PETSC ERROR: #1 VecGetValues() at /b/petsc/src/vec/vec/interface/rvector.c:1021\n",
        )
    ]
    assert messages == ["Argument out of range"]


def test_line_of_wrf_has_rank_and_host():
    assert read_record(RECORDS, " taskid: 20 hostname: node172").fields == {"by_rank": 20, "by_host": "node172"}


def test_additional_information_of_deal_ii_is_the_message():
    record = read_record(
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
    assert record.fields["message"] == "There is no triangulation attached to this object."


def test_condition_of_deal_ii_is_the_message_without_additional_information():
    record = read_record(
        OF_ENGINEERING,
        "An error occurred in line <88> of file <step.cc> in function\n"
        "    void run()\n"
        "The violated condition was: \n"
        "    n > 0\n"
        "Additional information: \n"
        "    (none)\n",
    )
    assert record.fields["message"] == "n > 0"


def test_quantum_espresso_without_convergence_fails_only_if_it_stops():
    assert kinds(OF_CHEMISTRY, "     convergence NOT achieved after 100 iterations\n") == []
    assert kinds(OF_CHEMISTRY, "     convergence NOT achieved after 100 iterations: stopping\n") == ["simulation.fatal"]


def test_the_process_that_mitgcm_names_is_the_rank_and_its_warnings_are_no_end():
    assert read_record(OF_EARTH, "(PID.TID 0011.0001) *** ERROR *** INI_PARMS: no namelist\n").fields["rank"] == 11
    assert kinds(OF_EARTH, "(PID.TID 0011.0001) ** WARNING ** INI_PARMS: no namelist\n") == []


def test_pio_message_stands_below_and_rank_minus_one_is_no_rank():
    text = "pio_support::pio_die:: myrank=          -1 : ERROR: nf_mod.F90:        1204 : \nNetCDF: Not a valid ID\n"
    record = read_record(OF_EARTH, text)
    assert record.fields["message"] == "NetCDF: Not a valid ID"
    assert "rank" not in record.fields


def test_box_of_abacus_is_no_part_of_its_message():
    box = " " + "!" * 57
    record = read_record(
        OF_CHEMISTRY,
        f"{' ' * 25}NOTICE{' ' * 27}\n{box}\n\n atoms 3 and 9 lie upon each other\n CHECK IN FILE : OUT.bulk/warning.log\n",
    )
    assert record.fields["message"] == "atoms 3 and 9 lie upon each other"


def test_the_error_of_fleur_is_a_failure_and_its_warning_is_none():
    assert read_record(OF_CHEMISTRY, " 0**************juDFT-Error*****************\n 0Error message:spheres overlap\n")
    assert kinds(OF_CHEMISTRY, " ************juDFT-Warning*****************\nError message:spheres overlap\n") == []


def test_an_exception_of_bout_is_what_stands_below_its_ruler():
    record = read_record(OF_PHYSICS, "====== Exception thrown ======\nSolver timestep failed\n")
    assert record.fields["message"] == "Solver timestep failed"


def test_a_step_that_fluent_calls_diverged_is_an_error_and_a_residual_is_none():
    assert kinds(OF_ENGINEERING, "Error: Divergence detected in AMG solver: k\n") == ["simulation.fatal"]
    assert kinds(OF_ENGINEERING, "  412  9.1e-04  3.3e-06 stabilizing x-momentum to enhance linear solver\n") == []


def test_the_last_lines_of_febio_nastran_and_fluents_cortex_are_errors():
    lines = (
        " E R R O R   T E R M I N A T I O N",
        "0*** USER FATAL MESSAGE 3001, A SET IS EMPTY",
        "Fatal error in one of the compute processes.",
    )
    assert [kinds(OF_ENGINEERING, line) for line in lines] == [["simulation.fatal"]] * 3


def test_command_refused_by_mrbayes_is_an_input_error():
    assert kinds(OF_BIOLOGY, '   Error in command "Lset"\n') == ["simulation.input"]


PLACE = "At line 31 of file ../src/halo.f90 (unit = 12, file = 'halo.in')\n"


def test_place_of_gnu_fortran_without_its_message_is_an_error():
    below = "\nError termination. Backtrace:\n#0  0x7f00 in ???\n"
    assert [e.fields["message"] for text in (PLACE, PLACE + below) for e in read(OF_FORTRAN, text)] == [
        PLACE.strip()
    ] * 2


def test_place_of_gnu_fortran_with_a_message_below_gives_no_record():
    assert not read(OF_FORTRAN, PLACE + "Fortran runtime warning: An array temporary was created\n")

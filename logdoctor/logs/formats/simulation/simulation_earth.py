r"""Last words of models of ocean, air, climate and rivers, most of which do not look like an error to anybody else.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message, rank, function, place, code: the program found an error and ends
- ``simulation.input`` message, rank: the same, and the program says that its input or the number of processes is wrong
- ``simulation.signal`` signal, message: a handler of the program caught a signal

Sources: NEMO 4 (ctl_stop), ROMS 4 (exit_flag), ICON and ECHAM (mo_exception), CESM 2 (shr_abort), CAM 6 and CLM 5
(endrun), CMAQ and SMOKE (I/O API m3exit), MITgcm (ALL_PROC_DIE), FMS (mpp_error), WAVEWATCH III 6 (w3servmd), MPAS 8
(mpas_log), PIO 2, COSMO 5 (model_abort), GEOS-Chem 14 (error_mod), TELEMAC v8 (plante), SCHISM 5 (schism_msgp); Nek5000
19 (comm_mpi), which says the same as SCHISM; ADCIRC 55, UCLA-ROMS, XIOS 2, OASIS3-MCT 4, PISM 2, SWAN 41, FESOM 2,
IFS (mpl_abort, drhook), POP 2, ESMF 8 (log).
"""

from __future__ import annotations

from logdoctor.logs.multiline.simulation_frames import message_reader
from logdoctor.logs.record_pattern import RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("simulation.fatal",
           r"^\s*(?P<message>(?:INFO: \w{2,40}: )?ADCIRC (?:Terminating\b|terminating with error code: +[1-9]).*|"
           r"EXECUTION WILL (?:NOW )?BE TERMINATED)\W*$", "fatal", priority=-1,
           note="ADCIRC ends with an error; what it is stands above."),
    RecordPattern("simulation.fatal", r"^\s*ERROR: (?P<function>\w{2,40}): (?P<message>NetCDF: \S.*)", "fatal",
           note="ADCIRC cannot use a netCDF file.", priority=1, scan=r"ERROR: \w+: NetCDF: "),
    RecordPattern("simulation.fatal", r"^\s*#{3} ERROR: (?P<function>\w[\w ]{1,40}?) *:: *(?P<message>\S.*)", "fatal",
           note="ROMS ends with an error.", scan=r"### ERROR: .{2,45}::"),
    RecordPattern("simulation.input", r"^\s*(?P<function>[A-Z]{2,12}_[A-Z0-9_]{2,16}) - (?P<message>(?:unable to (?:open|find|"
           r"read|get|inquire|create|define|write)|illegal|inconsistent|error while|could not|cannot find) \S.*)",
           "error", note="ROMS cannot use its input.",
           scan=r" - (?:unable to |illegal |inconsistent |error while |could not |cannot find )"),
    RecordPattern("simulation.fatal", r"In file [\"'](?P<place>[\w./-]{1,200}\.[ch]pp)[\"'], (?:function "
           r"[\"'](?P<function>[^\"'\n]{1,300})[\"'], )? *line \d+ -> (?P<message>\S.*)", "fatal",
           note="XIOS ends with an error.", scan=r"In file .{2,220}\.[ch]pp.{1,330}line \d+ -> "),
    RecordPattern("simulation.fatal",
           r"^\s*(?P<function>\S{3,60}) +(?P<message>abort by model *: *\d+ +proc *: *(?P<rank>\d+))",
           "fatal", note="OASIS ends a coupled model; what it is stands above.", scan=r"abort by model *: *\d+ +proc"),
    RecordPattern("simulation.fatal", r"^\s*PISM ERROR: (?P<message>\S.*)", "fatal", note="PISM ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*\*\* (?:Severe|Terminating) error *: +(?P<message>\S.*)", "fatal",
           note="SWAN ends with an error.", scan=r"\*\* (?:Severe|Terminating) error *: "),
    RecordPattern("simulation.fatal",
           r"^\W*(?P<message>Run finished unexpectedly!)", "fatal", note="FESOM ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>MPL_ABORT: CALLED FROM PROCESSOR +(?P<processor>\d+).*)", "fatal",
           note="IFS ends with an error; it counts its processors from 1.", priority=-1),
    RecordPattern("simulation.signal",
           r"\[signal_drhook@drhook\.c:\d+\] Received signal#(?P<signal>\d+) \((?P<message>SIG\w+)\)",
           "fatal", note="IFS caught a signal of its own process."),
    RecordPattern("simulation.fatal", r"^\s*={3}>{3} : E R R O R\s*$", "fatal",
           message_reader(r"^={3}>{3}", skip=r"^=+$|^STOP$", alone=True), "NEMO ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*ROMS(?:/TOMS)? - (?P<message>\S.{0,60}?) *\.{2,} *exit_flag: +(?P<code>[1-9]\d?)",
           "fatal", note="ROMS ends with an error.", scan=r"ROMS(?:/TOMS)? - .{3,90}exit_flag: "),
    RecordPattern("simulation.fatal", r"^\s*(?:FATAL ERROR in (?P<function>\w{2,60})(?: \(-?\d+\))?: +(?P<message>\S.*)|"
           r"(?P<message>FINISH called) from PE: *(?P<rank>\d+))\s*$", "fatal",
           scan=r"FATAL ERROR in \w{2,60}(?: \(-?\d+\))?: |FINISH called from PE: ",
           note="ICON or ECHAM ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?:ERROR: ?)?\((?P<function>shr_(?:sys|abort|mpi)_abort)\):?(?: ERROR:)? ?"
           r"(?P<message>.*)", "fatal", scan=r"\(shr_(?:sys|abort|mpi)_abort\)",
           note="A model of CESM ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*ERROR: ?\((?P<function>(?:shr|seq|dshr|med|cime|component|mct|prep|map)_\w{2,60})"
           r"\):? *(?:ERROR: ?)?(?P<message>\S.*)", "fatal", priority=-1,
           scan=r"ERROR: ?\((?:shr|seq|dshr|med|cime|component|mct|prep|map)_\w{2,60}\)",
           note="The coupler of CESM or E3SM ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*ERROR: ?(?P<function>shr_\w{2,60}) ERROR: ?(?P<message>\S.*)|"
           r"^\s*ERROR: ?(?P<message>Unknown error submitted to shr_abort_abort\b.*)", "fatal",
           scan=r"ERROR: ?shr_\w{2,60} ERROR: |Unknown error submitted to shr_abort_abort",
           note="The coupler of CESM or E3SM ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*\*{3} ERROR ABORT in subroutine (?P<function>\w+)(?: \*{3}| on PE (?P<rank>\d+))?",
           "fatal", message_reader(r"^Date and time", alone=True),
           "A program on the I/O API (CMAQ, SMOKE) ends with an error."),
    RecordPattern("simulation.fatal", r"(?P<message>ABNORMAL END: (?:PROGRAM|S/R) .+|PROGRAM MAIN: ends with fatal Error)",
           "fatal", note="MITgcm ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*FATAL: (?P<message>(?P<place>(?:mpp|fms|diag|horiz_interp|time_interp)\w{0,40}"
           r"(?:\.\w{2,4})?): .+)", "fatal", scan=r"FATAL: (?:mpp|fms|diag|horiz_interp|time_interp)",
           note="A model built on FMS ends with an error; where FMS names no PE, it knows of one only."),
    RecordPattern("simulation.fatal", r"^\(PID\.TID (?P<rank>\d{4})\.\d{4}\) \*{3} ERROR \*{3} (?P<message>\S.*)", "fatal",
           note="MITgcm reports an error, after which it ends.", scan=r"\*{3} ERROR \*{3} "),
    RecordPattern("simulation.fatal", r"^\s*(?:MAIN: )?(?P<message>Abnormal termination: BLOWUP)", "fatal",
           note="ROMS ends: the solution is unstable."),
    RecordPattern("simulation.fatal", r"^\s*\*{3} WAVEWATCH[- ]III ERROR IN (?P<function>\w+)\b.*", "fatal",
           message_reader(r"^EXTCDE", alone=True), "WAVEWATCH III ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>EXTCDE MPI_ABORT, IEXIT=.*)", "fatal",
           note="WAVEWATCH III ends the job; what it is stands above.", priority=-1),
    RecordPattern("simulation.fatal", r"^\s*CRITICAL ERROR: (?P<message>\S.*)", "fatal", note="MPAS ends with an error."),
    RecordPattern("simulation.fatal", r"PIO: FATAL ERROR: (?:Aborting\.{3} )?(?P<message>\S.{0,600})", "fatal",
           note="The parallel input and output library of an earth model ends the program."),
    RecordPattern("simulation.fatal", r"^\s*pio_support::pio_die:: myrank= *(?:-1|(?P<rank>\d{1,7})) *: *ERROR: *"
           r"(?P<place>\S{3,200}: +\d+)? *:? *(?P<message>.*)", "fatal",
           message_reader(r"^Image +PC|^Traceback|^Offset"),
           "The parallel input and output library of an earth model ends the program.",
           scan=r"pio_support::pio_die:: myrank= "),
    RecordPattern("simulation.fatal", r"^\s*ENDRUN: ?(?P<message>\S.*)", "fatal", note="CAM or CLM ends with an error."),
    RecordPattern("simulation.fatal", r"PROGRAM TERMINATED BECAUSE OF ERRORS DETECTED", "fatal",
           message_reader(r"^\*-{8}", alone=True), "COSMO ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*GEOS-C(?:HEM|hem) ERROR: (?P<message>\S.*)", "fatal",
           note="GEOS-Chem ends with an error.", scan="GEOS-C(?:HEM|hem) ERROR: "),
    RecordPattern("simulation.fatal", r"(?P<message>PLANTE ?: (?:PROGRAM STOPPED AFTER AN ERROR|ARRET DU PROGRAMME APRES "
           r"ERREUR))", "fatal", note="TELEMAC ends with an error; what it is stands above."),
    RecordPattern("simulation.fatal", r"^\s*(?:(?P<rank>\d{1,7}): )?ABORT: (?P<message>(?:n\w+>l\w+! +(?P<rank>\d+)|"
           r"[A-Za-z]).{2,300})", "fatal", note="SCHISM or Nek5000 ends with an error.", priority=-2),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>an error occured: dying \.\.\.)", "fatal", priority=-2,
           note="Nek5000 ends with an error; what it is stands above."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>POP aborting\.\.\.)", "fatal", message_reader(r"^-{8}", alone=True),
           "POP ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*FATAL ERROR in (?P<function>[\w:/]{3,80}): *(?P<message>\S.*)", "fatal",
           priority=1, note="ICON or ECHAM ends with an error.", scan=r"FATAL ERROR in [\w:/]+: "),
    RecordPattern("simulation.fatal",
           r"^(?:\d{8} \d{6}\.\d{3} )?ERROR {2,}PET(?P<by_rank>\d{1,7}) +(?P<place>\S{3,300}:\d+) +(?P<message>\S.*)",
           "error", note="ESMF reports an error on this rank.", scan=r"ERROR {2,}PET\d+ "),
)  # fmt: skip

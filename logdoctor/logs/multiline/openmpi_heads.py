"""First sentences of Open MPI's help texts, with kind and level.

Each is found with or without the rows of dashes around it, because tickets are often cut. The record takes the whole
text.

Source: the ``help-*.txt`` files of Open MPI 3.0 to 5.0 (orte, opal, ompi) and PRRTE 2 and 3. Their wordings differ in
the program's name (mpirun, orterun, prterun) and in line breaks.
"""

from __future__ import annotations

from logdoctor.logs.multiline import openmpi_rare_heads as rare
from logdoctor.logs.multiline.openmpi_help import read_help_text, read_warning
from logdoctor.logs.record_pattern import RecordPattern

_RUN = r"(?:mpirun|mpiexec|orterun|prterun|prun|oshrun|shmemrun)(?:\.\w+)?"
_RTE = r"(?:ORTE|PRTE|PRRTE)"


def _fatal(kind: str, words: str, note: str) -> RecordPattern:
    """Return the record of a text that says that the job ends."""
    return RecordPattern(kind, words, "fatal", read_help_text, note, 30)


def _error(kind: str, words: str, note: str) -> RecordPattern:
    """Return the record of a text about a failure."""
    return RecordPattern(kind, words, "error", read_help_text, note, 20)


def _warning(kind: str, words: str, note: str) -> RecordPattern:
    """Return the record of a text after which the job goes on.

    `read_warning` raises the level if the text says that the job ends.
    """
    return RecordPattern(kind, words, "warning", read_warning, note, 20)


_FATAL = (
    _fatal(
        "openmpi.abort",
        r"MPI_ABORT was invoked on rank (?:(?P<rank>\d+) in communicator MPI_COMM_WORLD|"
        r"(?P<group_rank>\d+) in communicator (?P<communicator>MPI[^\n]{1,60}))|"
        r"SHMEM_ABORT was invoked on rank (?P<rank>\d+) \(pid (?P<pid>\d+), host=(?P<host>[\w.-]+)\)",
        "A rank called MPI_Abort, which ends every rank of the job.",
    ),
    _fatal(
        "openmpi.rank_died",
        rf"{_RUN} noticed that process rank (?P<rank>\d+)",
        "The launcher saw this rank die from a signal.",
    ),
    _fatal(
        "openmpi.rank_died",
        rf"{_RUN} has exited due to process rank (?P<rank>\d+)",
        "The launcher saw this rank leave without finalizing MPI.",
    ),
    _fatal(
        "openmpi.rank_died",
        r"One or more processes were killed by",
        "The launcher saw a process end in an unexpected way.",
    ),
    _fatal(
        "openmpi.exit_code",
        rf"{_RUN} detected that one or more processes exited with non-zero status",
        "The launcher saw a rank leave with an exit code other than zero.",
    ),
    _fatal(
        "openmpi.exit_code",
        r"Primary job +terminated normally, but \d+ process(?:es)? returned",
        "A process returned an exit code other than zero, and the launcher ends the job.",
    ),
    _fatal(
        "openmpi.slots",
        r"There are not enough slots available in the(?: system|\s*$)|"
        r"All nodes which are allocated for this job are already filled|"
        r"There are no allocated resources for the application|"
        r"Either the -host or -?-?hostfile options were given, but|"
        r"RMAPS found multiple applications to be launched|There are no nodes allocated to this job",
        "The launcher has fewer slots than processes to start.",
    ),
    _fatal(
        "openmpi.binding",
        r"A request was made to bind (?:to )?that would result in binding more|"
        r"A request for multiple cpus-per-proc was given|"
        r"Your job (?:has requested|will require) more (?:processes|cpus|slots)|"
        r"The request to bind processes could not be completed|Conflicting directives for (?:mapping|binding|ranking)|"
        r"The specified (?:mapping|binding|ranking|cpu list|slot list) (?:policy|directive)?|"
        r"The mapping request contains an unrecognized|An invalid (?:mapping|binding|ranking) policy|"
        r"A request was made to bind a process, but at least one|"
        r"Open MPI tried to bind a (?:new )?process, but something went wrong",
        "The launcher could not map or bind the processes as asked.",
    ),
    _fatal(
        "openmpi.daemon",
        rf"{_RTE} was unable to reliably start one or more daemons|"
        rf"An? {_RTE} daemon has unexpectedly failed after launch|A daemon \(pid (?:\d+|unknown)\) died unexpectedly|"
        rf"{_RTE} does not know how to route a message|A process or daemon was unable to complete a TCP connection|"
        r"A daemon on node [\w.-]+ failed to start|daemons? failed to (?:start|launch) on|"
        r"The launch of a daemon failed",
        "The launcher lost or could not start a daemon on another node.",
    ),
    _fatal(
        "openmpi.left_behind",
        r"WARNING: A process refused to die",
        "The launcher ended the job, and could not kill one of its processes.",
    ),
    _fatal(
        "openmpi.daemon_lost",
        r"has lost communication with (?:a remote daemon|its daemon located on)",
        "The launcher lost its daemon on another node, and all ranks there.",
    ),
    _fatal(
        "openmpi.launch",
        rf"{_RUN} was unable to (?:launch|start|find|open|access)[^\n]*|"
        rf"{_RUN} could not find anything to do|{_RUN} has detected an attempt to run as root|"
        r"No executable was specified on the|Open RTE was unable to (?:open|parse|initialize)[^\n]*|"
        r"(?:Open RTE|PRTE|PRRTE|The hostfile parser) (?:detected a|was unable to|could not) (?:bad|parse|open|"
        r"find)[^\n]*|"
        r"A hostfile was provided that contains at least one node not|"
        r"The (?:launching agent|executable|working directory|host file|hostfile) [^\n]{0,80}(?:not found|"
        r"could not|was not found)|"
        r"Unable to find a (?:launch|remote shell) agent",
        "The launcher could not start the program.",
    ),
    _fatal(
        "openmpi.init_failed",
        r"It looks like (?:MPI_INIT|MPI_Init|SHMEM_INIT|MPI runtime init|MPI_Session_init|orte_init|opal_init|"
        r"prte_init|pmix_init|OMPI_?\w*init)"
        r"[^\n]{0,12} failed|At least one pair of MPI processes are unable to reach each other|"
        r"No components were able to be opened in the|PML add procs failed",
        "MPI could not be initialised.",
    ),
    _fatal(
        "openmpi.pmi",
        r"The application appears to have been direct launched using|OMPI was not built with SLURM|"
        r"(?:PMI|PMIx) support[^\n]{0,40} (?:is not|was not) (?:available|built)",
        "The processes were started by a launcher that this MPI cannot talk to.",
    ),
    _fatal(
        "openmpi.time_limit",
        r"The user-provided time limit for job execution has been",
        "The launcher's own time limit ended the job.",
    ),
)

_ERROR = (
    _error(
        "openmpi.tcp",
        r"Open MPI failed to TCP connect to a peer MPI process|"
        r"Open MPI accepted a TCP connection from what appears to be|"
        r"Open MPI detected an inbound MPI TCP connection request from a peer|"
        r"WARNING: Open MPI failed to (?:open a|handshake|look ?up)[^\n]*",
        "Open MPI's TCP transport could not talk to another process as expected.",
    ),
    _error(
        "openmpi.interface",
        r"None of the TCP networks specified to be included|An invalid value was given for (?:btl|"
        r"oob)_tcp_if_include",
        "The network interfaces named in the settings do not fit this host.",
    ),
    _error(
        "openmpi.component_missing",
        r"A requested component was not found, or was unable to be opened",
        "A component that was asked for is not installed or cannot be loaded.",
    ),
    _error(
        "openmpi.openfabrics",
        r"The OpenFabrics \(openib\) BTL failed to initialize while trying to|"
        r"The InfiniBand retry count between two MPI|"
        r"The OpenFabrics stack has reported a network error|The OpenFabrics driver in Open MPI tried to register|"
        r"Open MPI (?:was unable to|has detected|failed to)[^\n]{0,60}(?:OpenFabrics|openib|InfiniBand)[^\n]*|"
        r"The OpenFabrics \(?\"?\w*\)? ?\"?receiver not ready\"? retry count",
        "Open MPI's InfiniBand transport reported a failure.",
    ),
    _error(
        "openmpi.shared_memory",
        r"A system call failed during shared memory initialization|It appears as if there is not enough space for|"
        r"(?:Open MPI|The shared memory[^\n]{0,40}) (?:was )?unable to (?:create|allocate|"
        r"open)[^\n]{0,40}shared memory",
        "Open MPI could not set up shared memory between the processes of a host.",
    ),
)

_WARNING = (
    _warning(
        "openmpi.warning",
        r"There was an error initializing an OpenFabrics device|No preset parameters were found for the device|"
        r"There are more than one active ports on host|high-performance Open MPI point-to-point messaging module|"
        r"for Open MPI 4\.0 and later, infiniband ports|It appears that your OpenFabrics subsystem is "
        r"configured to only|"
        r"WARNING: Linux kernel CMA support was requested via the|"
        r"An MPI process has executed an operation involving a call|"
        r"A process has executed an operation involving a call to the|"
        r"Open MPI will create a shared memory backing file in|"
        r"The library attempted to open the following supporting CUDA|"
        r"a request was made to bind a process\. While|The call to cu\w+ failed",
        "Open MPI warns about a setting or a device; the job goes on.",
    ),
)

_RARE = (
    _fatal("openmpi.launch", rare.LAUNCH, "The launcher could not start the program."),
    _fatal("openmpi.slots", rare.SLOTS, "The launcher has fewer slots or nodes than processes to start."),
    _fatal("openmpi.binding", rare.BINDING, "The launcher could not map or bind the processes as asked."),
    _error("openmpi.interface", rare.INTERFACE, "No network interface is left for the run-time of Open MPI."),
    _fatal("openmpi.pmi", rare.PMI, "The processes were started by a launcher that this MPI cannot talk to."),
    _fatal("openmpi.versions", rare.VERSIONS, "Two versions or installations of Open MPI's parts meet."),
    _fatal("openmpi.misuse", rare.MISUSE, "The program called MPI wrongly."),
    _fatal("openmpi.lost", rare.ENDED, "The launcher lost a process or a daemon and does not know why."),
    _fatal("openmpi.memory_limit", rare.MEMORY_LIMIT, "The launcher's watch over memory ended a process."),
    _error("openmpi.peer_gone", rare.PEER_GONE, "Another process closed its connection or was not reached."),
    _error("openmpi.shared_memory", rare.SHARED_MEMORY, "Shared memory between processes could not be set up."),
    _error("openmpi.fabric", rare.FABRIC, "The library of the fabric could not be set up, or lost a peer."),
    _error("openmpi.failed", rare.FAILED, "Open MPI or its launcher reports a failure."),
    _warning("openmpi.warning", rare.MILD, "Open MPI warns about a setting or a device; the job goes on."),
)

HEADS: tuple[RecordPattern, ...] = (*_FATAL, *_ERROR, *_WARNING, *_RARE)
"""All texts with a kind of their own. Any other text in a frame is ``openmpi.help``."""

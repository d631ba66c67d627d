"""First sentences of the rarer help texts of Open MPI, PRRTE and PMIx, by the kind of event that they make.

They stand beside `openmpi_heads` (the common ones) and are found with or without the rows of dashes, whole or cut.
Only the words of the first line are used: where a text is broken differs between versions.
Source: the ``help-*.txt`` files of Open MPI 3.1 to 5.0 (orte, opal, ompi), PRRTE 2 to 4, OpenPMIx 3 to 6.
"""

from __future__ import annotations

_RUN = r"(?:mpirun|mpiexec|orterun|prterun|prun)(?:\.\w+)?"


def _one_of(*sentences: str) -> str:
    return "|".join(sentences)


LAUNCH = _one_of(
    rf"{_RUN} was unable to (?:parse|read|search) ",
    rf"{_RUN} found multiple applications specified on the command",
    r"has detected that one or more applications was given",
    r"Unable to open the appfile:",
    r"Some of the requested hosts are not included in the",
    r"The hostfile given is not a regular file",
    r"A hostfile was provided that contains multiple definitions",
    r"A relative host was (?:improperly )?specified",
    r"process starter for (?:OpenMPI|Open MPI|PRTE|PRRTE) ",
    r"launcher has been given a prefix to use, but could not",
    r"PLS component was not able to find the executable",
    r"The cmd line to launch remote daemons is too long",
    r"srun returned non-zero exit status",
    r"A prefix was supplied to \w+ that only contained slashes",
    r'tried to fork a new process via the "execve"',
    r"Open MPI's mpirun command (?:was unable to find|could not execute)",
    r"The singleton application was not able to find (?:an|the) executable",
    r"The specified fork agent was not found",
    r"The launch agent to be used for starting daemons was set",
    r"unable to change to the requested working directory",
    r"The xterm option was (?:requested|asked)",
    r"No available launching agents were found",
    r"A daemon died unexpectedly (?:with status|on signal) \d+",
    r"(?:LSF|TM \(PBS / Torque\)|Slurm|TM) process starter (?:\(|cannot|failed|requires)",
    r"Multiple different --prefix options were specified",
    r'pl[ms]_[rs]sh_num_concurrent" is less than',
    r"launcher has been given a number of \d+ concurrent daemons",
    r"You have specified a rank-to-node/slot mapping, but failed",
    r"A request was made to add hosts from a hostfile",
    r"tried to launch a child process but the",
    r"was unable to set up the standard I/O for a child",
    r"The specified hostfile contained a node",
    r"PMIx was unable to launch the specified",
    r'An (?:add-host or add-hostfile|"--activate") directive',
    r'A hostfile given to "--activate" names a host',
    r"The requested stdin target is out of range",
    r"The number of MPI processes to launch was not",
)
"""The launcher could not start the program or its daemons."""

SLOTS = _one_of(
    r"Either there are not enough slots available in the system",
    r"The requested number of processes exceeds the allocated",
    r"Your job has requested a conflicting number of processes",
    r"There are not enough nodes in your allocation to satisfy",
    r"There are not enough slots on the nodes in your allocation",
    r"There are no available nodes allocated to this job",
    r"No nodes are available for this job, either due to",
    r"A sequential map was requested, but not enough node entries",
    r'" specification asked for more slots on a node than',
    r"The requested number of empty hosts was not available",
    r"There are not enough slots available in the Grid Engine",
    r"No slots were found in the Grid Engine",
    r"We were unable to find an allocation for this job",
    r"found multiple applications to be launched, and at least one",
)
"""There are fewer slots or nodes than processes."""

BINDING = _one_of(
    r"No objects of the specified type were found on at least one",
    r"The attempt to assign hardware locations to processes",
    r"An unrecognized value was given for the number of processes",
    r"A ppr pattern was specified, but the topology",
    r"Error, (?:invalid (?:syntax|rank \(\d+\)) in (?:the rankfile|sequential hostfile)|rank \d+ is already assigned)",
    r"Rankfile claimed host",
    r"A rank is missing its location specification",
    r"Some of the requested ranks are not included",
    r"was unable to open the rankfile",
    r"to successfully process/set the requested processor",
    r"Multiple processor affinity schemes were specified",
    r"An insufficient number of CPUs was found while attempting",
    r"A request was made to bind a given number of cpus to each",
    r"The request to map processes by distance could not",
    r"(?:directive|policy) contains an unrecognized qualifier",
    r"A request was made to map by a hardware object",
    r"Two qualifiers that contradict each other were given",
    r"The CPU list provided on your cmd line contains",
    r"The default CPU list contains an invalid modifier",
    r"A sequence file entry named a set of CPUs",
    r"The binding request contains an unrecognized",
    r"The affinity file provided in LSB_AFFINITY_HOSTFILE could not",
    r"(?:PRTE|PMIx) tried to bind a new process, but (?:something|process binding)",
    r"A slot list was provided that exceeds",
    r"A request was made to bind to \S+, but an appropriate target",
    r"A mapping directive was given that requires knowledge",
    r"While computing bindings, we found no available cpus",
    r"No bindable objects of the specified type",
    r"Unknown binding level:",
    r"Your job failed to map\. +Either no mapper",
    r"The mapping request contains a pattern",
    r"An invalid value was given for the number of processes",
    r"The provided mapping directives resulted in too many",
    r"The rankfile that was used claimed that a host",
    r"A slot_list containing detailed location info",
    r"An attempt to set processor affinity has failed",
    r"An attempt was made to bind a process to a specific hardware",
    r"A request to bind (?:the )?processes (?:if the operating|was made, but no)",
    r"Not enough \w+ were found on the local host to meet",
    r"An invalid physical processor id was returned",
    r"The specified (?:binding|mapping|ranking) policy is not recognized",
    r"tried to bind memory for a new process but something",
    r"A process attempted to bind to resources already allocated",
    r"A request was made to bind the Open RTE daemons",
    r"detected that both a slot list was specified",
    r"While parsing the rankfile,",
    r"The specified LSF affinity file contained a node",
    r"tried to bind a new process, but process binding is not",
    r"The request to bind processes to cpus in a provided",
    r"A topology file was given for the compute nodes",
)
"""The mapping or binding that was asked for is not understood or does not fit."""

INTERFACE = _one_of(
    r"No network interfaces were found for out-of-band",
    r"The specified list of networks to be excluded for",
    r"No usable network interfaces were found on this host",
)
"""No network interface is left for the run-time."""

PMI = _one_of(
    r"PMIx_Init failed for the following reason",
    r"No PMIx server was reachable, but a PMI1/2 was detected",
    r"PMI2_Init was intialized but negative values",
    r"PMI2_Init failed to intialize",
    r"PMI2 initialized but returned bad values for",
    r"PMI2 failed to initialize, returning an error",
    r"Direct launch with aprun only works when either",
)
"""The process was started in a way that its run-time cannot talk to."""

VERSIONS = _one_of(
    r"An unexpected version of PMIx was loaded",
    r"A version of PMIx was detected that is too old",
    r"conflicting directives regarding the location of OPAL vs",
    r"We no longer support non-PMIx-based tools",
)
"""Two versions or installations meet."""

MISUSE = _one_of(
    r"The function MPI_FINALIZE was invoked (?:multiple times|before MPI was)",
    r"Detected mismatched split_type and/or info",
    r"Detected an unexpected split type in a call",
    r"that this process has attempted to initialize",
)
"""The program calls MPI wrongly."""

ENDED = _one_of(
    r"noticed that the job aborted, but has no info",
    r"A critical communication path was lost to",
    r"failed to receive scheduled heartbeat communications",
    r"has exited due to a process exiting without",
    r"noticed that the job aborted by signal, but",
    r"detected that a required daemon terminated during",
    r"job \S+ terminated normally, but \d+ process",
)
"""The launcher lost a process or a daemon and knows no more."""

MEMORY_LIMIT = _one_of(
    r"A process exceeded memory limits:",
    r"A process has exceeded the specified limit on memory usage",
)
"""The launcher's own watch over memory ended a process."""

PEER_GONE = _one_of(
    r"An MPI communication peer process has unexpectedly disconnected",
    r"Unable to connect to the peer [\d.:a-f]+ on port",
)
"""Another process closed the connection, or was not reached."""

SHARED_MEMORY = _one_of(
    r"A system call failed during \w+ (?:shared memory )?BTL initialization",
    r"ERROR: Linux kernel CMA support was requested via the",
    r"CMA support is not available due to different user",
    r"PMIx was unable to create a shared memory backing",
    r"component attempted to attach to a shared-memory segment",
)
"""Shared memory between the processes of a host could not be set up."""

FABRIC = _one_of(
    r"Initialization of (?:PSM2?|MXM) library failed",
    r"MXM was unable to (?:create an endpoint|read settings)",
    r"The OFI MTL was not able to find endpoint information",
    r"Error: common_pami\.c:\d+",
    r"A process failed to create a queue pair\.",
    r"receive queue configuration for the OpenFabrics",
    r"MPI_INIT has failed because at least one MPI process",
)
"""The fabric's library could not be set up or lost a peer."""

FAILED = _one_of(
    r"A call to mkdir was unable to create the desired directory",
    r"detected a call to mkdir was unable to create",
    r"encountered a \w+ call failure\.  This should not",
    r"Conflicting requests for timeout were given",
    r"has detected multiple instances of an MCA param",
    r"While trying to determine what resources are available",
    r"No nodes were found in the PBS_NODEFILE",
    r"The PBS_NODEFILE environmental variable was",
    r"Grid Engine ras component is not able to read",
    r"Although we were able to map your job, we are unable",
    r"The accept\(3\) system call failed on a TCP socket",
    r"failed to (?:get or )?set flags on a TCP socket",
    r"Number of local ranks exceed the number of",
    r"Both TCP interface include and exclude lists",
    r"A compressed message was received (?:that|by the Open MPI)",
    r"components are available on your system, none of",
    r"occurred in attempting to make network progress",
    r"Process \d+ Unable to locate the variable file",
    r"Open MPI failed to register your buffer",
    r"The call to pmix_init_server\(\) failed",
    r"An attempt was made to send a message to a process whose",
    r"A received msg header indicates a size that is",
    r"indicating a possibly stalled application",
    r"One or more processes (?:appear to have stalled|have exceeded a specified)",
    r"has exited before it received notification that all",
    r"While trying to (?:create|parse) a regular expression",
    r"collective require support from a prior collective",
    r"Bootstrap startup (?:was|could|resolved)",
    r"flux_(?:open|kvs_lookup(?:_get)?) returned with an error",
    r"Connection to the Slurm controller failed",
    r"Failed to (?:create a (?:queue pair \(QP\)|completion queue \(CQ\))|poll the CQ cq for work completions|"
    r"register memory region \(MR\)|post a list of work requests|modify the attributes of a queue pair)",
    r"Unable to post application (?:receive|send) buffer",
    r"Message size \d+ bigger than supported by",
    r"Error initializing RM connection\. Exiting",
    r"not able to find any usable hardware topology",
    r"The Open MPI OFI MTL is aborting the MPI job",
    r"RECV CONNECT BAD HANDSHAKE",
    r"CANNOT CREATE SOCKET",
    r"Unable to start listen thread",
    r"SIGPIPE detected(?: on fd \d+)? - aborting",
    r"There was a problem while initializing support for the CUDA",
    r"The sync collective component in Open MPI was activated",
    r"component does not support MPI_THREAD_MULTIPLE",
    r'(?:eager|rdma) limit" MCA parameter in the',
    r"Your application has invoked an MPI function that is",
    r"Open MPI was configured without support for",
    r"The user requested CUDA support with the",
    r"n operation involving MPI_Connect and/or MPI_Accept",
    r"can only take a single negation operator",
    r"Two mutually-exclusive MCA variables",
    r"A name collision was detected on an MCA variable",
    r'the "sm" BTL is no longer available',
    r"was compiled without dynamic library support",
    r"A call to allocate memory within the CUDA support",
    r"requested a shared memory segment that was too",
    r"received an unexpected message ID during common sm",
    r"failed to find a cache of a specified type",
    r"unable to find any usable plugins for the",
    r"to PMIx_tool_connect_to_server, but no",
    r"The PMIx server (?:was unable to|was given a)",
    r"The PMIx server's listener thread failed",
    r"intercepted a call to free memory that is still",
    r"is unable to establish a communication connection to the",
    r"An internal error has occurred (?:in (?:ORTE|PRTE|PRRTE)|when creating a new|during the startup)",
    r"A daemon (?:has no recorded node|could not establish its identity)",
    r"One or more daemons could not be ordered to",
    r"A call was made to launch additional processes, but",
    r"does not currently support multi-endian",
    r"We attempted to obtain a dynamic allocation from",
    r"The system has exhausted its available ranks",
    r"While attempting to build a map of this job",
    r"A request has timed out and will therefore fail",
    r"A request for an asynchronous runtime operation cannot",
    r"The specified location for the temporary directories",
    r"was unable to obtain the username in order to",
    r"[Rr]eturned value -?\d+ instead of ORTE_SUCCESS",
    r"was unable to (?:allocate enough resources to start|precondition transports|cleanly terminate the daemons)",
    r"was unable to (?:determine the status of the daemons|define an event required)",
    r"An invalid (?:node|local) rank was obtained",
    r"does not have enough free bits in its tag",
    r"Scalable Endpoint feature is",
    r"Reached limit \(\d+\) for number of OFI contexts",
    r"A library call unexpectedly failed\.",
    r"The proc-per-resource MPI_Info key is not",
    r"Static ports were requested while",
    r"Both static and dynamic port ranges were",
    r"The specified network is not parseable",
    r"An attempt was made to (?:initiate|make) a TCP connection",
    r"An attempt was made to open a shared memory backing file",
    r"No sockets were able to be opened on the available",
    r"At least one child job is being terminated",
    r"did not receive version information when connecting",
    r"A message being sent between two PRRTE daemons is",
    r"A PMIx server (?:was unable to|found a stale)",
    r"Collection strategy during a collective operation",
    r"has detected (?:at least one|a) malformed",
    r"attempted to set a system resource",
    r"received a request to set a system resource",
    r"Dynamic allocation was enabled, but no Slurm",
    r"The Slurm (?:control host could not be|configuration file was not)",
    r"The SMP mode flag was given, but",
    r"A publish/lookup server was provided, but",
    r"was instructed to wait for the requested ompi-server",
    r"There was an error when attempting to access the specified",
    r"ID of the client process does not match the ID",
    r"ool connections, but no (?:non-loopback|loopback|available)",
    r"A system call failed that should not have",
    r"a process has terminated, but the runtime holds",
    r"A mutex (?:acquire|initialization|release) ",
    r"driver in Open MPI tried to raise a fatal error",
    r"OpenFabrics stack has reported an unknown network",
    r"does not support iWARP devices with this version",
    r"detected two different OpenFabrics transport types",
    r"tried to use a GID index that was too large",
    r"The call to cuPointerSetAttribute with CU_POINTER",
    r"It looks like opal_cr_init failed",
    r"PMIx has found multiple possible servers to which",
)
"""Something failed; the text says what, and not why."""

MILD = _one_of(
    r"The following memory locations were allocated via MPI_ALLOC_MEM",
    r"System has detected external process binding",
    r"Missing locality information required for",
    r"An invalid value was given for (?:pmix_ptl_base_if|(?:btl|oob)_tcp_if_exclude)",
    r"unable to find a usable compression library",
    r"There was an error registering software performance counters",
    r"OFI driver detected multiple",
    r"failed to bind internal memory to a specific NUMA node",
    r"User requested for more than available contexts",
    r"ERROR \(coll/xhc\)",
    r"failed to (?:open|retrieve the ABI version from) the /dev/knem",
    r"No OpenFabrics connection schemes reported that they were",
)
"""The job goes on."""

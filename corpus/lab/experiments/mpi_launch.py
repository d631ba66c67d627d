"""MPI launchers that cannot start what they shall start."""

from __future__ import annotations

from functools import partial

from bench import Bench
from experiment import Experiment
from mpi import MPICH, OPENMPI, Mpi, around, hosts

HEAT = ("./heat", "--steps", "60")


def launch(
    bench: Bench,
    mpi: Mpi,
    command: str,
    prepare: str = "true",
    program: str = "heat",
    env: dict[str, str] | None = None,
) -> None:
    """Type a command line that cannot work."""
    first, *_ = hosts(bench, "login1", slots=2)
    mpi.build(bench, program)
    first.sh(f"cd {bench.folder} && {prepare}")
    bench.run(*mpi.command(*command.split()), env=around(bench, **(env or {})), timeout=25)


def over_hosts(bench: Bench, mpi: Mpi, command: str, prepare: str = "true") -> None:
    """Start the solver over two hosts, one of which is prepared to refuse."""
    _, second = hosts(bench, "cn101", "cn102")
    mpi.build(bench)
    second.sh(f"cd {bench.folder} && {prepare}")
    bench.run(*mpi.command(*command.split()), env=around(bench), timeout=25)


def refused(
    case: str,
    mpi: Mpi,
    label: str,
    title: str,
    description: str,
    command: str,
    evidence: str,
    *,
    also: tuple[str, ...] = (),
    culprit: dict[str, object] | None = None,
    **how: object,
) -> Experiment:
    """An experiment that ends before the program begins."""
    start = over_hosts if "cn102" in command or "hosts.txt" in command or "machines.txt" in command else launch
    return Experiment(
        case=case,
        label=label,
        title=title,
        story=f"A solver in C shall be started by {mpi.name}. {description}",
        run=partial(start, mpi=mpi, command=command, **how),
        needs=mpi.needs(),
        culprit=culprit or {},
        also=also,
        evidence=(evidence,) if evidence else (),
        seconds=60,
    )


REMOTE = "--hostfile hosts.txt --mca plm_rsh_agent ./remote"
HYDRA = "-f machines.txt -launcher ssh -launcher-exec ./remote"
BARE = "mkdir -p bare && for p in sh dash bash env cat hostname uname id; do cp -L /usr/bin/$p bare/; done; mount --bind bare /usr/bin"
"""A host without MPI: its /usr/bin has no more than a shell needs."""

EXPERIMENTS = (
    refused(
        "unwritable-session-folder-openmpi",
        OPENMPI,
        "host.filesystem",
        "The folder for Open MPI's session files may not be written",
        "TMPDIR names a scratch folder that is mounted read-only; mpirun cannot make its session folder there.",
        "-n 2 ./heat",
        "ompi.login1",
        also=("mpi.launch",),
        prepare="mount -t tmpfs tmpfs /mnt && mount -o remount,ro /mnt",
        env={"TMPDIR": "/mnt", "PMIX_SYSTEM_TMPDIR": "/mnt"},
    ),
    refused(
        "slots-openmpi",
        OPENMPI,
        "mpi.slots",
        "Sixteen ranks on a machine of two cores",
        "The machine has fewer cores than ranks are asked for, and nobody allowed to oversubscribe it.",
        "-n 64 ./heat",
        "not enough slots",
    ),
    refused(
        "slots-hostfile-openmpi",
        OPENMPI,
        "mpi.slots",
        "Six ranks on two hosts of two slots each",
        "The hostfile gives each of two hosts two slots; six ranks are asked for.",
        f"-n 6 {REMOTE} ./heat",
        "not enough slots",
    ),
    refused(
        "missing-hostfile-openmpi",
        OPENMPI,
        "mpi.launch",
        "The hostfile is not there",
        "The hostfile that it is given does not exist.",
        "-n 4 --hostfile /etc/mpi/machines ./heat",
        "unable to open the hostfile",
    ),
    refused(
        "missing-hostfile-mpich",
        MPICH,
        "mpi.launch",
        "The host file is not there",
        "The host file that it is given does not exist.",
        "-n 4 -f /etc/mpi/machines ./heat",
        "/etc/mpi/machines",
    ),
    refused(
        "unresolved-host-openmpi",
        OPENMPI,
        "net.dns",
        "A host of the hostfile does not resolve",
        "The hostfile names a host that no name service knows; ssh says so.",
        "-n 2 --host node31,node32 ./heat",
        "Could not resolve hostname",
        also=("mpi.launch",),
    ),
    refused(
        "unresolved-host-mpich",
        MPICH,
        "net.dns",
        "A host of the host list does not resolve",
        "The list names a host that no name service knows; ssh says so.",
        "-n 2 -hosts node31,node32 ./heat",
        "Could not resolve hostname",
        also=("mpi.launch",),
    ),
    refused(
        "ssh-refused-openmpi",
        OPENMPI,
        "mpi.launch",
        "No ssh server on the second host",
        "The second host runs no ssh server: the connection is refused.",
        "-n 4 --host cn101:2,cn102:2 ./heat",
        "Connection refused",
    ),
    refused(
        "ssh-refused-mpich",
        MPICH,
        "mpi.launch",
        "No ssh server on the second host",
        "The second host runs no ssh server: the connection is refused.",
        "-n 4 -hosts cn101,cn102 ./heat",
        "Connection refused",
    ),
    refused(
        "missing-agent-openmpi",
        OPENMPI,
        "mpi.launch",
        "The remote shell that is named does not exist",
        "The remote shell that the MCA parameter plm_rsh_agent names does not exist.",
        "-n 2 --mca plm_rsh_agent /opt/site/bin/clush --host node31,node32 ./heat",
        "plm_rsh_agent",
    ),
    refused(
        "failing-agent-openmpi",
        OPENMPI,
        "mpi.launch",
        "The remote shell fails and says nothing",
        "The remote shell ends with an error and prints nothing.",
        "-n 2 --mca plm_rsh_agent /bin/false --host node31,node32 ./heat",
        "unable to reliably start",
    ),
    refused(
        "missing-orted-openmpi",
        OPENMPI,
        "mpi.launch",
        "The second host has no Open MPI",
        "On the second host no Open MPI is installed: its shell does not find orted.",
        f"-n 4 {REMOTE} ./heat",
        "orted",
        prepare=BARE,
    ),
    refused(
        "missing-proxy-mpich",
        MPICH,
        "mpi.launch",
        "The second host has no MPICH",
        "On the second host no MPICH is installed: its shell does not find the proxy.",
        f"-n 4 {HYDRA} ./heat",
        "hydra_pmi_proxy",
        prepare=BARE,
    ),
    refused(
        "missing-program-openmpi",
        OPENMPI,
        "mpi.launch",
        "The program is not there",
        "The path of the program has a typing error.",
        "-n 2 ./heet --steps 60",
        "could not access",
        also=("job.launch",),
        prepare="true",
    ),
    refused(
        "missing-program-mpich",
        MPICH,
        "mpi.launch",
        "The program is not there",
        "The path of the program has a typing error.",
        "-n 4 ./heet --steps 60",
        "heet",
        also=("job.launch",),
    ),
    refused(
        "missing-program-second-host-openmpi",
        OPENMPI,
        "mpi.launch",
        "The program is not there on the second host",
        "The program lies on a disk that only the first host has.",
        f"-n 4 {REMOTE} ./heat",
        "could not access",
        also=("job.launch",),
        culprit={"host": "cn102"},
        prepare="mount --bind /dev/null heat",
    ),
    refused(
        "not-executable-mpich",
        MPICH,
        "mpi.launch",
        "The program may not be executed",
        "The program was copied without the right to execute it.",
        "-n 2 ./heat --steps 60",
        "Permission denied",
        also=("job.launch", "host.filesystem"),
        prepare="chmod 644 heat",
    ),
    refused(
        "missing-library-openmpi",
        OPENMPI,
        "app.import",
        "A shared library of the program is not installed",
        "The program is linked to a library that is not installed on this machine.",
        "-n 2 ./heat --steps 60",
        "cannot open shared object file",
        prepare="echo 'int solver_version(void){return 4;}' > s.c && gcc -shared -fPIC -o libsolver.so.4 s.c && mpicc.openmpi -o heat heat.c -Wl,--no-as-needed ./libsolver.so.4 -lm && rm libsolver.so.4",
    ),
    refused(
        "missing-library-mpich",
        MPICH,
        "app.import",
        "A shared library of the program is not installed",
        "The program is linked to a library that is not installed on this machine.",
        "-n 2 -l ./heat --steps 60",
        "cannot open shared object file",
        prepare="echo 'int solver_version(void){return 4;}' > s.c && gcc -shared -fPIC -o libsolver.so.4 s.c && mpicc.mpich -o heat heat.c -Wl,--no-as-needed ./libsolver.so.4 -lm && rm libsolver.so.4",
    ),
    refused(
        "root-refused-openmpi",
        OPENMPI,
        "mpi.launch",
        "mpirun as root",
        "It is started by root in a container, without --allow-run-as-root.",
        "-n 2 ./heat --steps 60",
        "run as root",
        env={"OMPI_ALLOW_RUN_AS_ROOT": "", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": ""},
    ),
    refused(
        "unknown-option-openmpi",
        OPENMPI,
        "mpi.launch",
        "An option that this mpirun does not know",
        "The command line holds an option of another launcher.",
        "-n 2 --gpus-per-task 1 ./heat",
        "unknown option",
        also=("mpi.version-mix", "app.config", "job.launch"),
    ),
    refused(
        "unknown-option-mpich",
        MPICH,
        "mpi.version-mix",
        "An option that this mpiexec does not know",
        "The command line holds an option of Open MPI.",
        "-n 2 --tag-output ./heat",
        "unrecognized argument",
        also=("mpi.launch", "app.config"),
    ),
    refused(
        "no-such-interface-btl-openmpi",
        OPENMPI,
        "net.no-interface",
        "btl_tcp_if_include names no interface of these hosts",
        "The interface that btl_tcp_if_include names exists on none of the hosts.",
        f"-n 4 {REMOTE} --mca btl tcp,self --mca btl_tcp_if_include ib0 ./heat",
        "btl_tcp_if_include",
    ),
    refused(
        "no-such-interface-oob-openmpi",
        OPENMPI,
        "net.no-interface",
        "oob_tcp_if_include names no interface of this host",
        "The interface that oob_tcp_if_include names does not exist.",
        "-n 2 --mca oob_tcp_if_include eth9 ./heat",
        "None of the TCP networks",
    ),
    refused(
        "no-such-interface-mpich",
        MPICH,
        "net.no-interface",
        "-iface names no interface of this host",
        "The interface that -iface names does not exist.",
        "-n 2 -iface eth9 ./heat",
        "eth9",
    ),
    refused(
        "binding-overload-openmpi",
        OPENMPI,
        "mpi.binding",
        "More ranks than cores, each bound to a core",
        "More ranks are bound to cores than there are cores.",
        "-n 8 --oversubscribe --bind-to core --map-by core ./heat",
        "binding more",
        also=("mpi.slots",),
    ),
    refused(
        "binding-too-wide-openmpi",
        OPENMPI,
        "mpi.binding",
        "Each rank shall have more cores than a socket has",
        "Each rank is to be bound to 64 cores of a socket that has fewer.",
        "-n 2 --map-by socket:PE=64 ./heat",
        "cpus-per-proc",
    ),
    refused(
        "no-transport-openmpi",
        OPENMPI,
        "mpi.fabric",
        "No transport between ranks",
        "The MCA parameter btl leaves only the transport of a rank to itself.",
        f"-n 4 {REMOTE} --mca pml ob1 --mca btl self ./heat",
        "unable to reach each other",
    ),
    refused(
        "no-pml-openmpi",
        OPENMPI,
        "mpi.fabric",
        "A messaging layer that is not available",
        "The messaging layer cm is asked for, which needs hardware that this host has not.",
        "-n 1 --mca pml cm ./heat",
        "pml",
    ),
)

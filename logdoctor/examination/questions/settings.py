"""Settings of the transport: variables at the start of a log that choose or turn off how processes talk to each other.

They decide which way a library tries. So they belong beside a transport that could not be set up, or did not reach its
peer, and nobody has to ask whether they are set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Said
from logdoctor.pack.regexes import later

MOST = 3
"""Settings that are told. More of them are the usual list of a site and single out nothing."""
CLASSES = ("not set up", "unreachable", "library reports")
"""Failure classes to which the choice of a transport matters."""
PREFIXES: Mapping[str, tuple[str, ...]] = {
    "net": ("NCCL_", "FI_", "UCX_", "GLOO_"),
    "nccl": ("NCCL_", "FI_", "UCX_"),
    "mpi": ("UCX_", "FI_", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "I_MPI_", "MPICH_", "HYDRA_", "PSM2_", "PSM3_"),
}
"""Beginnings of the variables of a family of signatures."""
_CHOICE = later(
    r"_(?:DISABLE|ENABLE|TLS|NET|NET_DEVICES|NET_PLUGIN|PROVIDER|IFNAME|HCA|P2P_LEVEL|NET_GDR_LEVEL|FABRICS?|IFACE"
    r"|btl|pml|mtl|osc|coll|plm|ras|btl_tcp_if_\w+|oob_tcp_if_\w+|CROSS_NIC|IB_GID_INDEX|NETMASK)$"
)


@asks
def settings(scene: Scene) -> Iterator[Answer]:
    """Yield the settings of the transport at the start of the log. Kind ``settings`` (settings)."""
    rule = scene.rule
    prefixes = PREFIXES.get(rule.signature.partition(".")[0], ()) if rule else ()
    if rule is None or not prefixes or rule.failure_class not in CLASSES:
        return
    found: dict[str, tuple[Said, Fact]] = {}
    for said in scene.head():
        for fact in scene.facts(said, "setting") if "_" in said.text else ():
            if fact.role == "set" and fact.of.startswith(prefixes) and _CHOICE.search(fact.of):
                found.setdefault(fact.of, (said, fact))
    if found and len(found) <= MOST:
        shown = tuple(found.values())
        told = tuple(f"{fact.of}={fact.value}" for _, fact in shown)
        lines = tuple(dict.fromkeys(fact.line for _, fact in shown))
        yield Answer("settings", shown[0][0], {"settings": told}, lines, tuple(fact for _, fact in shown), beside=True)

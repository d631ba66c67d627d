"""Host names in front of a line.

Devices, metrics, programs and exceptions are printed as ``word: text`` too.  So the word must look like a host name,
and the text after it must not be a value.
"""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Source
from logdoctor.pack.regexes import later

_DEVICE = later(
    r"(?:mlx|nvme|eth|ib|ibp|en[opsx]|wlan|veth|bond|br|docker|md|dm-|sd[a-z]|cpu|loop|usb|pci|ata|tty|raid|fb|hpet|hfi"
    r"|hns|bnxt|efa|roce|mpt|nvidia|nvidia-(?:nvswitch|nvlink)|cuda|rank|stage|phase|step|iter|epoch|layer|conv|block"
    r"|loss|acc|top-?|bleu|rouge|sha|ipv|utf-?|u?int|fp|bf|float|python|job|test|exp|v|f|h|a|b)\d"
)
"""Words with a number that name a device, a metric or a part of a model."""
_PROGRAM = later(
    r"nvidia-smi|lib|exit-|systemd|slurm(?:step)?d-|torch|lightning|pytorch|accelerate|deepspeed|megatron|http|c10d|x86|amd64"
    r"|(?:collect2|cc1(?:plus)?|f951|(?:gcc|clang|gfortran|cpp)-\d+|bzip2|md5sum|f2py3?|h5(?:cc|fc|pcc|pfc|dump|ls|repack|diff)|s3cmd|e2fsck|mount\.nfs4|ip6tables)$"
    r"|.*\.(?:py|c|cc|cpp|cu|h|go|sh|so|js|rs|yaml|json|toml|x|exe|out|bin)$|\d+(?:\.\d+){0,2}$"
)
_VALUE = later(
    r"[-+]?\d+(?:\.\d*)?(?:e-?\d+)?%?(?:[\s,;]|$)|(?:nan|inf|None|True|False)\b|[{(\"']|\d{1,6}: \d"
    r"|\S{1,300}:\d{1,7}: [^\n]{1,400}: Assertion [`'\"]"  # glibc's assert, in front of which stands the program's name
)


def read_host(groups: Mapping[str, str], rest: str) -> tuple[str, Source] | None:
    """Return the text after the host name. None: the word is no host name."""
    word = groups["host"]
    if _DEVICE.match(word) or _PROGRAM.match(word) or _VALUE.match(rest):
        return None
    return rest, Source()

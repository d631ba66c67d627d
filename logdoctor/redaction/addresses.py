"""IPv4 and IPv6 addresses. A version with four numbers, such as 9.1.0.70, is not an address."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.redaction.spans import Span, group_span

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = later(
    rf"(?<![\w.+~-])(?P<ip>{_OCTET}(?:\.{_OCTET}){{3}})(?P<port>[:<]\d{{1,5}}|/\d{{1,2}}(?!\d))?(?![\w.]*\.\d|\w|-\d|\+)"
)
_IPV6 = later(
    r"(?<![\w:.])(?P<ip>(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|(?:f[ed]|2[0-9a-f])[0-9a-fA-F]{2}:[0-9a-fA-F:]{1,38}(?:\d{1,3}(?:\.\d{1,3}){3})?)(?![\w:])"
)
_PRIVATE = (
    "10.",
    "192.168.",
    *(f"172.{n}." for n in range(16, 32)),
    *(f"100.{n}." for n in range(64, 128)),
    "169.254.",
)
_SHARED = ("127.", "0.", "255.", "169.254.169.254", "172.17.0.1")
_VERSION = later(
    r"(?i)(?:versions?|ver|cudnn|tensorrt|trt|driver|release|firmware|fw|build|ofed|cuda|package|wheel|toolkit|lib\w+|v)[\s:=>\"'(/-]{0,4}$|==$|[<>~!]=\s?$"
)
_NETWORK = later(
    r"(?i)(?:\bip|addr|address|host|peer|from|to|at|server|remote|inet|gateway|nameserver|dns|via|with|dst|src|://|@|tcp|on|interface|port|listen\w*)[\s:=\"'\[(]{1,4}$|://$|@$"
)
_LOW = 24
"""First numbers below this belong mostly to versions."""


def find_addresses(text: str) -> Iterator[Span]:
    """Yield the addresses in ``text`` that identify a machine. Loopback and default addresses do not."""
    for match in _IPV4.finditer(text):
        before = text[max(0, match.start() - 24) : match.start()]
        if _is_ipv4(match["ip"], before, match["port"] or ""):
            yield group_span(match, "ip", match["ip"], "ip")
    if text.count(":") > 1:
        for match in _IPV6.finditer(text):
            if _is_ipv6(match["ip"]):
                yield group_span(match, "ip", match["ip"].lower(), "ip")


def _is_ipv4(ip: str, before: str, port: str) -> bool:
    """Return True unless ``ip`` is shared, a version or a network.

    ``before`` is the text before ``ip``. ``port`` is ``:22``, ``<43211``, ``/24`` or "".
    """
    if ip.startswith(_SHARED) or (ip.endswith(".0") and port.startswith("/")):
        return False
    if port.startswith((":", "<")):
        return True
    if _VERSION.search(before):
        return False
    return ip.startswith(_PRIVATE) or bool(_NETWORK.search(before)) or (number(ip.partition(".")[0]) or 0) >= _LOW


def _is_ipv6(text: str) -> bool:
    try:
        return not ip_address(text).is_loopback and text.rstrip(":") != "fe80"
    except ValueError:
        return False

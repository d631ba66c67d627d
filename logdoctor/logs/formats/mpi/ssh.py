r"""ssh between the nodes of a job, as mpirun, mpiexec, pdsh and deepspeed use it.

Kinds and their fields:

- ``ssh.connect`` peer, message, errno: no connection to the host; ``ssh.resolve`` peer: the host's name is unknown
- ``ssh.auth`` peer, message: the host does not let the user in; ``ssh.host_key`` peer, message
- ``ssh.closed`` peer, message: the connection broke; ``ssh.limit`` message: too many sessions; ``ssh.command``
  message

Source: OpenSSH 7.4 to 9.8 (ssh.c, sshconnect2.c, clientloop.c).
"""

from __future__ import annotations

from logdoctor.logs.multiline.ucx_blocks import read_peer
from logdoctor.logs.record_pattern import RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("ssh.resolve", r"ssh: Could not resolve hostname (?P<peer>[^\s:]{1,255}): (?P<message>.+)", "error",
           note="ssh does not know the name of this host."),
    RecordPattern("ssh.connect", r"ssh: connect to host (?P<peer>\S{1,255}) port (?P<port>\d+): (?P<message>.+)", "error",
           read_peer, "ssh could not reach this host."),
    RecordPattern("ssh.connect", r"^(?:debug1: )?connect to address (?P<peer>\S{1,255}) port (?P<port>\d+): (?P<message>.+)",
           "error", read_peer, "ssh could not reach this address of the host."),
    RecordPattern("ssh.auth",
           r"(?:(?P<user>[\w.-]+)@(?P<peer>[\w.-]+): )?(?P<message>Permission denied \((?:publickey|password|gssapi|"
           r"keyboard|hostbased)[\w,-]*\))", "error", note="The host did not let the user in."),
    RecordPattern("ssh.auth", r"(?P<message>Permission denied, please try again\.|Too many authentication failures|"
           r"sign_and_send_pubkey: .*|Load key \"[^\"]{1,300}\": .*|"
           r"Permissions \d+ for '[^']{1,300}' are too open\.)", "error", note="The host did not let the user in."),
    RecordPattern("ssh.host_key", r"(?P<message>Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|"
           r"No \w+ host key is known for (?P<peer>\S+) and you have requested strict checking|"
           r"The authenticity of host '(?P<host_name>[^' ]{1,255}).*can't be established)", "error",
           note="ssh does not trust the key of the host."),
    RecordPattern("ssh.limit", r"^(?P<message>(?:ssh_exchange_identification|kex_exchange_identification): .*)", "error",
           read_peer, "The host closed the connection before the log-in."),
    RecordPattern("ssh.closed",
           r"^(?P<message>Connection (?:to|from) (?P<peer>[\w.:-]+)(?: port \d+)? (?:closed by remote host|"
           r"timed out|reset by peer)|client_loop: send disconnect: .*|"
           r"Timeout, server (?P<host_name>\S+) not responding|packet_write_wait: .*)", "error",
           note="An ssh connection broke."),
    RecordPattern("ssh.command",
           r"(?P<message>(?:pdsh@[\w.-]+: (?P<peer>[\w.-]+): ssh exited with exit code (?P<exit_code>[1-9]\d*)|"
           r"clush: (?P<peer>[\w.-]+):? exited with exit code (?P<exit_code>255)|"
           r"\[FAILURE\] (?P<peer>[\w.-]+) Exited with error code (?P<exit_code>255)|"
           r"pdsh@[\w.-]+: (?P<host_name>[\w.-]+): .*))", "error",
           note="A command started over ssh failed on this host."),
    RecordPattern("ssh.note", r"Warning: Permanently added '[^']{1,255}'", "info", note="ssh met a host for the first time."),
)  # fmt: skip

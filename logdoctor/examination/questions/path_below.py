"""Path below: a line that tells an error of the system without its file, and the file in the next line."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact
from logdoctor.pack.regexes import later

_ERROR = later(
    r"(?i)\berrno\b|\bno such file or directory|\b(?:permission|access) denied|\bno space left|\bquota exceeded"
    r"|\bread-only file system|\b(?:is|not) a directory\b|\bfile exists|\binput/output error"
    r"|\bstale (?:nfs )?file handle|\btoo many open files|\boperation not permitted"
)
_FILE = later(
    r"""^\s*(?:[-*>]\s*)?(?:while (?:opening|reading|writing|creating|removing) """
    r"""|(?i:file|path|directory|folder|dir|filename|location)(?: ?name)?\s*[:=]\s*)?"""
    r"""['"`‘]?(?P<path>(?:~|\.{1,2})?/[^\s'"`’:]{2,400})['"`’]?\s*[.,)]?\s*$"""
)


@asks
def path_below(scene: Scene) -> Iterator[Answer]:
    """Yield the file that stands alone in the line below the proof, if that tells an error and no file.

    Kind ``path`` (path).
    """
    proof = scene.quoted
    if scene.facts(proof, "path") or not _ERROR.search(proof.text):
        return
    later_lines = [*(said for said in scene.block if said.line.number > proof.line.number), *scene.below()]
    said = next((said for said in later_lines if said.line.number == proof.line.number + 1), None)
    if said is not None and (file := _FILE.match(said.text)):
        fact = Fact("path", "named", file["path"], said.line, said=said.text.strip())
        yield Answer("path", said, {"path": file["path"]}, facts=(fact,))

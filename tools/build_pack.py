"""Build hook of hatch: compile formats and rules into the wheel's ``logdoctor/pack.bin``, pack the files of the rules
into one archive, and write manual pages.

A wheel then starts without reading YAML. An editable install has no such file, because its sources change.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildPack(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from logdoctor.pack import shipped
        from logdoctor.pipeline.knowledge import compile_tables
        from tools import man_pages

        file = Path(self.directory) / "pack.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(shipped.encode(compile_tables()))
        build_data["force_include"][str(file)] = f"logdoctor/{shipped.FILE.name}"
        self._pack_rules(build_data["force_include"])
        for page in man_pages.write(Path(self.directory) / "man1"):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

    def _pack_rules(self, included: dict[str, str]) -> None:
        from logdoctor.ruleset import ARCHIVE, rule_files

        rules = Path(self.root) / "rules"
        packed = [file.path for file in rule_files(rules)]
        archive = Path(self.directory) / ARCHIVE
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in packed:
                file.writestr(
                    zipfile.ZipInfo(path.relative_to(rules).as_posix()), path.read_bytes(), zipfile.ZIP_DEFLATED
                )
        beside = {path for path in rules.rglob("*") if path.is_file()}.difference(packed)
        included |= {str(path): f"logdoctor/_rules/{path.relative_to(rules).as_posix()}" for path in beside}
        included[str(archive)] = f"logdoctor/_rules/{ARCHIVE}"

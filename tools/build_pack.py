"""Build hook of hatch: compile formats and rules into the wheel's ``logdoctor/pack.bin``, and write manual pages.

A wheel then starts without reading YAML. An editable install has no such file, because its sources change.
"""

from __future__ import annotations

import sys
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
        for page in man_pages.write(Path(self.directory) / "man1"):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

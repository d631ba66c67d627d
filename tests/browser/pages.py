"""Write the pages for the browser check into a folder: handmade, simulated and hostile, in both languages.

python tests/browser/pages.py FOLDER
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile_texts import HOSTILE
from render_diagnoses import ALL
from simulator import simulate
from test_fleet_page import FULL as FLEET
from test_fleet_page import render as fleet_page
from test_fleet_page import replace_texts as replace_fleet_texts
from test_render_injection import FULL, everywhere

from logdoctor import diagnose
from logdoctor.render import render

JOBS = (
    ("oom_kill", 16, 1),
    ("gpu_memory", 16, 1),
    ("desync_size", 16, 1),
    ("node_lost", 64, 3),
    ("straggler_silent", 1024, 3),
)


def simulated(fault, size, seed, lang):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in simulate(seed, fault, size).files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        return diagnose(["."], name=f"{fault}-{size}", lang=lang, context=3)


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    pages = {name: (diagnosis, "en") for name, diagnosis in ALL.items()}
    pages |= {"two-causes-zh": (ALL["two-causes"], "zh")}
    pages |= {f"{fault}-{size}": (simulated(fault, size, seed, "en"), "en") for fault, size, seed in JOBS}
    pages |= {"gpu_memory-zh": (simulated(*JOBS[1], "zh"), "zh")}
    pages |= {f"hostile-{n}": (everywhere(FULL, " ".join(HOSTILE[n::8])), "en") for n in range(8)}
    files = {name: render(diagnosis, "html", lang=lang) for name, (diagnosis, lang) in pages.items()}
    files |= {f"fleet-{lang}": fleet_page(FLEET, lang) for lang in ("en", "zh")}
    files |= {"fleet-hostile": fleet_page([replace_fleet_texts(record, " ".join(HOSTILE[::8])) for record in FLEET])}
    for name, text in files.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

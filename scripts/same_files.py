"""Check that a wheel holds every file of `src/ascertain`, and nothing else of ours.

.venv/bin/python scripts/same_files.py WHEEL
"""

import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"


def main(wheel):
    found = (path for path in SOURCE.rglob("*") if path.is_file())
    ours = {
        path.relative_to(SOURCE).as_posix() for path in found if "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    if ours != packed:
        sys.exit(
            f"not in the wheel: {sorted(ours - packed)}\nonly in the wheel: {sorted(packed - ours)}"
        )
    print(f"the wheel holds all {len(ours)} files of src")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

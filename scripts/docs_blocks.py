"""Fill the generated blocks of the pages from the code, so that the pages cannot drift from it.

    .venv/bin/python scripts/docs_blocks.py --check
    .venv/bin/python scripts/docs_blocks.py --write

A block is what stands between `<!-- generated: NAME -->` and `<!-- end -->`. `--check` names the
pages that are not current and ends with exit code 1; `--write` puts them right. The generators
stand in `docs_tables.py` and `docs_names.py`.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # run as a script
    sys.path.insert(0, str(ROOT))

from scripts import docs_names, docs_tables  # noqa: E402, F401 - they register their blocks
from scripts.docs_words import BLOCKS  # noqa: E402

BLOCK = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages():
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def filled(text):
    """The text with all its blocks as they should be."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", text)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="name what is not current")
    what.add_argument("--write", action="store_true", help="put it right")
    asked = parser.parse_args(arguments)
    stale = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = filled(text)
        if new == text:
            continue
        stale.append(page.relative_to(ROOT).as_posix())
        if asked.write:
            page.write_text(new, encoding="utf-8")
    word = "written" if asked.write else "not current"
    for name in stale:
        print(f"{word}: {name}")
    return 1 if stale and asked.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

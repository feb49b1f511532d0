"""`python -m ascertain.testing.world`: one provider as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
from pathlib import Path

from ascertain.testing.world.schema import prepare
from ascertain.testing.world.service import run
from ascertain.testing.world.words import Provider


def main(argv: list[str]) -> int:
    """Serve a provider's file; the first line printed is JSON with the port."""
    parser = argparse.ArgumentParser(prog="python -m ascertain.testing.world", description=__doc__)
    parser.add_argument("--db", type=Path, required=True, help="the provider's own SQLite file")
    parser.add_argument("--port", type=int, default=0, help="0: any free port of 127.0.0.1")
    parser.add_argument(
        "--provider",
        action="append",
        default=[],
        metavar="COLLECTION=JSON",
        help='a collection and what it promises: tickets={"honours_key": true}',
    )
    parser.add_argument("--parent", type=int, help="stop when this process is no longer our parent")
    parser.add_argument(
        "--ephemeral", action="store_true", help="remove the file's folder if the parent dies"
    )
    args = parser.parse_args(argv)
    providers: dict[str, Provider] = {}
    for text in args.provider:
        collection, _, spec = text.partition("=")
        providers[collection] = Provider.from_json(spec or "{}")
    prepare(args.db, providers)
    orphaned = asyncio.run(run(args.db, args.port, args.parent))
    if orphaned and args.ephemeral:
        shutil.rmtree(args.db.parent, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Install the MCP servers that `make servers` plays, each kind in an environment of its own.

They are others' work: two from the Python registry, which need an older SDK than the proxy has, and
one from npm. A second time this only looks whether they are there.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venv" / "servers"
PYTHON = ("mcp-server-git", "mcp-server-sqlite", "mcp<2")
NODE = "@modelcontextprotocol/server-filesystem"
FOUND = (
    PLACE / "python" / "bin" / "mcp-server-git",
    PLACE / "python" / "bin" / "mcp-server-sqlite",
    PLACE / "node" / "node_modules" / ".bin" / "mcp-server-filesystem",
)


def run(*command, cwd=ROOT):
    if subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL).returncode:
        sys.exit(f"could not be installed: {' '.join(map(str, command))}")


def main():
    if all(path.exists() for path in FOUND):
        return
    if not shutil.which("npm"):
        sys.exit("make servers needs npm, for a server that is written for node.")
    print("Installing three MCP servers into .venv/servers, once", flush=True)
    run(sys.executable, "-m", "venv", PLACE / "python")
    pip = PLACE / "python" / "bin" / "pip"
    run(pip, "--disable-pip-version-check", "-qq", "install", *PYTHON)
    (PLACE / "node").mkdir(parents=True, exist_ok=True)
    run("npm", "install", "--silent", "--no-audit", "--no-fund", NODE, cwd=PLACE / "node")


if __name__ == "__main__":
    main()

"""What the repository's rules look at: its files, as text and as syntax trees."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "ascertain"
FOLDERS = ("src", "tests", "bench", "scripts", "docs", "examples", ".ci")
TEXT = {"", ".c", ".css", ".html", ".js", ".json", ".jsonl", ".lua", ".md", ".py", ".sh", ".sql"}
TEXT |= {".toml", ".txt", ".yaml", ".yml"}
LEFT_BEHIND = {"__pycache__", "node_modules"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def files(*folders: str) -> tuple[Path, ...]:
    """Every file below these folders of the repository, sorted."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return tuple(sorted(p for p in found if p.is_file() and not LEFT_BEHIND & set(p.parts)))


def texts() -> tuple[Path, ...]:
    """Every text file that a reader of the repository may meet."""
    top = (path for path in ROOT.iterdir() if path.is_file() and not path.is_symlink())
    known = {"Makefile", "LICENSE", ".gitignore", ".editorconfig"}
    mine = [path for path in top if path.name in known or path.suffix in {".md", ".toml"}]
    return tuple(sorted(mine)) + tuple(p for p in files(*FOLDERS) if p.suffix in TEXT)


def python(*folders: str) -> tuple[Path, ...]:
    return tuple(path for path in files(*folders) if path.suffix == ".py")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function of a file with its dotted name, inner ones too."""

    def below(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                dotted = f"{prefix}{child.name}"
                yield dotted, child
                yield from below(child, f"{dotted}.")
            else:
                yield from below(child, prefix)

    for dotted, node in below(tree(path), ""):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield dotted, node


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or an attribute chain; empty for anything else."""
    match node:
        case ast.Name(id=word):
            return word
        case ast.Attribute(value=value, attr=word):
            left = dotted(value)
            return f"{left}.{word}" if left else ""
        case _:
            return ""


def listed(file: str) -> dict[str, str]:
    """An allow-list beside this file: `what  reason` on each line, `#` for remarks."""
    entries: dict[str, str] = {}
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            what, _, reason = line.partition(" ")
            entries[what] = reason.strip()
    return entries

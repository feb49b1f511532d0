"""What a reader meets: no traces of how it was built, links that lead on, a true Makefile."""

import re
import subprocess

import pytest

from tests.tidy import sources

# Put together from parts, so that this file passes its own test.
TRACES = {
    "a folder outside the repository": r"\bsha"
    r"red/(?!exclusive)|/wo"
    r"rk/|(?<![\w.])/ro"
    r"ot/",
    "a document outside the repository": r"DESI" r"GN\.md|REQUIRE" r"MENTS\.md",
    "how the work was divided": r"\bissues? ?#|\bissues? \d|\bsess"
    r"ion of work|work sess"
    r"ion\b",
    "a host of a package registry": r"py"
    r"pi\.org|python"
    r"hosted|npm"
    r"js\.(org|com)"
    r"|(deb|security|ftp)\.deb"
    r"ian\.org",
}
FOREIGN = {"LICENSE"}
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)#\s]+)(#[^)]*)?\)")
MAKEFILE = sources.ROOT / "Makefile"
TARGETS = ("help", "demo", "test", "check", "bench", "prove", "docs", "console", "fmt")


@pytest.mark.parametrize("path", sources.texts(), ids=sources.name)
def test_the_text_is_about_the_product(path):
    if path.name in FOREIGN:
        return
    text = path.read_text(encoding="utf-8")
    found = [
        f"{sources.name(path)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r} is {what}"
        for what, pattern in TRACES.items()
        for match in re.finditer(pattern, text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", sources.texts(), ids=sources.name)
def test_text_is_clean(path):
    text = path.read_text(encoding="utf-8")
    assert "\r" not in text
    assert "\t" not in text or path.name == "Makefile", "tabs"
    assert not text or text.endswith("\n"), "the last line has no end"
    merge = [line for line in text.splitlines() if re.match(r"(<{7}|>{7}) ", line)]
    assert not merge, "an unfinished merge"


PAGES = [path for path in sources.texts() if path.suffix == ".md"]


@pytest.mark.parametrize("page", PAGES, ids=sources.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [match[1] for match in LINK.finditer(text)]
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    dead = [target for target in local if not (page.parent / target).exists()]
    assert not dead, f"{sources.name(page)} links to what is not there: {dead}"


def make(*arguments):
    return subprocess.run(["make", *arguments], cwd=sources.ROOT, capture_output=True, text=True)


def test_help_lists_every_target_and_every_target_says_what_it_does():
    phony = set()
    for line in re.findall(r"^\.PHONY:(.*)$", MAKEFILE.read_text(), re.MULTILINE):
        phony |= set(line.split())
    phony -= {"look-closer"}  # not for people
    assert set(TARGETS) <= phony
    listed = dict(re.findall(r"^  ([a-z]+) +(\S.*)$", make("help").stdout, re.MULTILINE))
    assert set(listed) == phony


@pytest.mark.parametrize("target", ["docs", "console"])
def test_what_is_not_built_yet_says_so(target):
    done = make(target)
    assert done.returncode == 2
    assert f"make {target}: not built yet" in done.stderr
    assert done.stdout == ""

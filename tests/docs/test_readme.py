"""The quickstart of the README runs as it stands, also when it is killed and run again."""

import runpy

import pytest

import ascertain
from ascertain.testing.crash import ENDED, crash_everywhere
from ascertain.testing.world import Behaviour, World, lookup
from tests.docs.pages import READMES, SOMEBODY, quickstart, run, start

HELD = Behaviour("reply_lost", how="hang")
NEVER_CAME = Behaviour("request_lost", how="hang")


@pytest.fixture
def world():
    with World() as world:
        yield world


def put(page, world, folder):
    """The program on the page; only the address of the provider is replaced."""
    text = quickstart(page)
    assert text.count(SOMEBODY) == 1
    (folder / "quickstart.py").write_text(text.replace(SOMEBODY, world.url))
    return folder


@pytest.mark.parametrize("page", READMES)
def test_the_quickstart_runs_as_it_stands(page, world, tmp_path):
    program = put(page, world, tmp_path)
    first, facts, *_ = run(program, "quickstart.py").splitlines()
    assert first == "confirmed T900"
    assert "'state': 'confirmed', 'provider_ref': 'T900'" in facts
    assert run(program, "quickstart.py").splitlines()[0] == "confirmed T900"
    assert world.count("tickets") == 1


@pytest.mark.parametrize(
    "page, behaviours, looks, killed_at",
    [
        (READMES[0], [HELD], [], "POST"),
        (READMES[1], [NEVER_CAME], [], "POST"),
        (READMES[0], ["reply_lost"], [lookup("hang")], "GET"),
    ],
    ids=["it-happened", "it-did-not", "while-asking"],
)
def test_killed_in_the_middle_and_run_again_there_is_one_ticket(
    page, world, tmp_path, behaviours, looks, killed_at
):
    """kill -9 while the process waits for the provider; then the same script once more."""
    program = put(page, world, tmp_path)
    world.script("tickets", {"order": "A123"}, behaviours, lookup=looks)
    process = start(program, "quickstart.py")
    world.wait_until(
        lambda: bool(world.arrivals("tickets", method=killed_at)), "the request came", 20
    )
    process.kill()
    out, _ = process.communicate(timeout=10)
    assert (process.returncode, out) == (-9, "")
    assert run(program, "quickstart.py").splitlines()[0] == "confirmed T900"
    assert world.count("tickets") == 1
    assert len({post.key for post in world.arrivals("tickets", method="POST")}) == 1


def test_killed_before_and_after_every_effect_and_run_again_there_is_one_ticket(
    world, tmp_path, monkeypatch
):
    """At any line: each crash point once, each time on a ledger of its own."""
    program = tmp_path / "quickstart.py"
    program.write_text(quickstart("README.md").replace(SOMEBODY, world.url))

    def a_new_folder():
        folder = tmp_path / str(world.count("tickets"))
        folder.mkdir()
        monkeypatch.chdir(folder)

    class Planned(ascertain.Ascertain):
        def __init__(self, url):
            super().__init__(url, worker="none")  # so that the points come in one order
            self.hands.on_effect = Planned.plan

    def script(plan):
        Planned.plan = plan
        ascertain.Ascertain = Planned
        runpy.run_path(str(program), run_name="__main__")

    killed = []
    crashes = crash_everywhere(script, script, before=a_new_folder)
    for tickets, crash in enumerate(crashes, 1):
        assert world.count("tickets") == tickets, str(crash)
        assert crash.passed[-1] == ENDED
        killed.append(crash.first)
    assert killed == [
        "reserve.before", "reserve.after", "invoke.before", "invoke.after", "advance.before",
        "advance.after", None,
    ]  # fmt: skip

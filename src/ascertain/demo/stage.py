"""Plays the stories: sets the providers' behaviours, starts agents, kills them, starts workers."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from ascertain.demo.children import Child, wait_until
from ascertain.demo.line import HeldLine
from ascertain.demo.places import AFTERSALES, NOTICE, PROVIDERS, Places
from ascertain.demo.stories import MANY, STORIES, Story
from ascertain.demo.telling import Told
from ascertain.model.action import ActionRecord
from ascertain.model.chain import Around
from ascertain.replay.columns import Progress
from ascertain.store.ledger import Filter, Ledger
from ascertain.store.open import open_ledger
from ascertain.testing.world import Behaviour, World
from ascertain.values.arguments import parse_call

LEASE_S = 0.8
WITHIN_S = 40.0
AT_ONCE = 1  # what a worker takes at a time, so that racing ones have to share
RETRY_AFTER_S = 2
AGENT, WORKER = "ascertain.demo.agent", "ascertain.demo.worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that is running.

    :param told: grows while agents speak. :param notes: what was done to them, by story.
    :param open_at_kill: orders that were still open when their agent was killed, by story.
    """

    folder: Path
    worlds: Mapping[str, World]
    places: Places
    ledger: Ledger
    sabotage: str | None
    progress: Progress
    told: list[Told]
    notes: dict[str, list[str]]
    open_at_kill: dict[str, set[str]]

    def agent(self, *parts: str, places: Places | None = None) -> Child:
        """An agent that plays these parts."""
        return self._child(AGENT, places, parts)

    def worker(self, at_once: int = 64) -> Child:
        """A worker that is ready, and takes on so many actions at once."""
        child = self._child(WORKER, None, ["--at-once", str(at_once)])
        child.line(WITHIN_S)
        return child

    def child(self, module: str, *arguments: str, guarded: bool = True) -> Child:
        """A process of another kind; one that is not guarded has no rule that could be broken."""
        return self._child(module, None, arguments, guarded=guarded)

    def _child(
        self, module: str, places: Places | None, parts: Sequence[str], *, guarded: bool = True
    ) -> Child:
        broken = ["--sabotage", self.sabotage] if self.sabotage and guarded else []
        where = self.places.write() if places is None else places.write("places-held.json")
        return Child(module, [*broken, str(where), *parts], log=self.folder / "children.log")

    def hear(self, agent: Child) -> None:
        """Listen to an agent until it ends."""

        def heard(told: Told) -> None:
            self.told.append(told)
            self.progress.tick(f"{told.order}: {told.say['en']}")

        agent.told(WITHIN_S, heard)

    def note(self, story: str, what: str) -> None:
        """Say, and keep, what was done."""
        self.notes.setdefault(story, []).append(what)
        self.progress.step(what)

    def records(self, story: Story) -> list[ActionRecord]:
        """The story's actions, oldest first."""
        return [
            record
            for session in story.sessions
            for record in self.ledger.find(Filter(session=session, limit=1000))[::-1]
        ]

    def chain(self, story: Story) -> Around | None:
        """The chain that the story is about, with all its actions."""
        if story.conversations:
            return None  # each has its own, and none of them goes back
        chains = self.ledger.chains.of_session(story.sessions[0], "default")
        return self.ledger.chains.around(chains[0].id) if chains else None

    def order_of(self, record: ActionRecord) -> str:
        """The order that an action is about."""
        arguments = parse_call(self.ledger.arguments(record.id) or "{}")
        undone = arguments.get("undone", {}).get("arguments", {})
        return str(arguments.get("order_id", undone.get("order_id")))

    def leases_ended(self, story: Story) -> bool:
        """Whether nobody holds any of the story's actions any more."""
        now = time.time()
        return all((record.lease_until or 0.0) <= now for record in self.records(story))

    def at_rest(self, story: Story) -> bool:
        """Whether nothing more will happen to the story's actions by itself."""
        return all(
            not record.open or record.review is not None or record.due_at is None
            for record in self.records(story)
        )


def set_up(
    folder: Path, stack: ExitStack, wanted: Sequence[str], sabotage: str | None, progress: Progress
) -> Stage:
    """Start the providers, each a process with a file of its own."""
    progress.step(f"starting {len(PROVIDERS)} providers: {', '.join(PROVIDERS)}")
    worlds = {name: World(collections) for name, collections in PROVIDERS.items()}
    with ThreadPoolExecutor(len(worlds)) as pool:
        list(pool.map(stack.enter_context, worlds.values()))
    places = Places(
        folder=str(folder),
        urls={name: world.url for name, world in worlds.items()},
        files={name: str(world.db_path) for name, world in worlds.items()},
        lease_s=LEASE_S,
    )
    ledger = open_ledger(places.ledger_url)
    stack.callback(ledger.close)
    stage = Stage(
        folder=folder, worlds=worlds, places=places, ledger=ledger, sabotage=sabotage,
        progress=progress, told=[], notes={}, open_at_kill={},
    )  # fmt: skip
    for story in wanted:
        _SCRIPTS.get(story, _nothing)(stage)
    return stage


# ------------------------------------------------------------------- what the providers will do


def _nothing(_: Stage) -> None:
    """No behaviour to set beforehand."""


def _tickets(stage: Stage, order: str, *behaviours: str | Behaviour) -> None:
    stage.worlds[AFTERSALES].script("tickets", {"order_id": order}, behaviours)


def _open_ticket(stage: Stage, order: str, ref: str, *afterwards: Behaviour) -> None:
    record = {"order_id": order, "customer": "u7", "issue": "noise"}
    stage.worlds[AFTERSALES].place("tickets", ref, record)
    _tickets(stage, order, Behaviour("business_refusal", existing_ref=ref), *afterwards)


def _a_notice_without_an_answer(stage: Stage) -> None:
    stage.worlds[NOTICE].script(
        "notices", {"order_id": "A200"}, [Behaviour("reply_lost", how="hang", hold_s=30)]
    )


def _under_way(stage: Stage, orders: Sequence[str]) -> None:
    """No answer to any of them; every second one takes effect, beginning with the first."""
    for n, order in enumerate(orders):
        effect = n % 2 == 0
        hangs = Behaviour("reply_lost", how="hang") if effect else Behaviour("hang_no_effect")
        _tickets(stage, order, hangs)


_SCRIPTS: Mapping[str, Callable[[Stage], None]] = {
    "a1": lambda stage: _tickets(stage, "A123", "reply_lost"),
    "a2": lambda stage: _tickets(stage, "A124", "lookup_misses_first"),
    "a3": lambda stage: _open_ticket(stage, "A125", "T850"),
    "a4": lambda stage: _tickets(
        stage, "A126", Behaviour("throttled", retry_after_s=RETRY_AFTER_S)
    ),
    "a5": lambda stage: _tickets(stage, "A127", "forbidden_403"),
    "a6": lambda stage: stage.worlds[AFTERSALES].script(
        "exchanges", {"order_id": "A128"}, ["reply_lost", "forbidden_403"]
    ),
    "b": _a_notice_without_an_answer,
    "c": lambda stage: _under_way(stage, ("C301", "C302")),
    "d": lambda stage: _under_way(stage, MANY),
    "f": lambda stage: _open_ticket(stage, "F500", "T860", Behaviour("slow_deadline", seconds=0.5)),
}


# ---------------------------------------------------------------------- how they are played


def play_conversations(stage: Stage, wanted: Sequence[str]) -> None:
    """Stories a and b: one agent works through them."""
    parts = [_part(STORIES[name]) for name in wanted]
    with stage.agent(*parts) as agent:
        talks = "1 conversation" if len(parts) == 1 else f"{len(parts)} conversations"
        stage.progress.step(f"an agent (process {agent.pid}) works through {talks}")
        stage.hear(agent)


def _part(story: Story) -> str:
    order = story.intents[0].order
    if story.id == "b":
        return f"fulfil:b:{order}"
    if story.id == "a6":
        return f"exchange:a6:{order}"
    return f"inspect:{story.id}:{order}:{story.request}"


def play_killed(stage: Stage, story: Story, workers: int) -> None:
    """Stories c and d: kill -9 with calls under way, then so many workers at once."""
    orders = [intent.order for intent in story.intents]
    part = f"many:{story.id}:{'+'.join(orders)}"
    world = stage.worlds[AFTERSALES]

    def reached() -> set[str]:
        came = world.arrivals("tickets", method="POST")
        return {str(one.args["order_id"]) for one in came if one.args is not None}

    with stage.agent(part) as agent:
        wait_until(
            lambda: reached() >= set(orders), "every call has reached the provider", WITHIN_S
        )
        agent.kill()
        left = {stage.order_of(record) for record in stage.records(story) if record.open}
        stage.open_at_kill[story.id] = left
        stage.note(story.id, f"kill -9 of the agent (process {agent.pid}) with {len(left)} calls "
                   "under way; they have told nobody anything")  # fmt: skip
    with ExitStack() as stack:
        hands = [stack.enter_context(stage.worker(AT_ONCE)) for _ in range(workers)]
        names = " and ".join(str(hand.pid) for hand in hands)
        who = f"worker {names}" if workers == 1 else f"workers {names}"
        if workers > 1:  # that all of it is there for both
            wait_until(lambda: stage.leases_ended(story), "the agent's leases have ended", WITHIN_S)
        stage.note(story.id, f"{who}: the sender is gone, so what it left is taken up")
        for hand in hands:
            hand.go()
        wait_until(lambda: stage.at_rest(story), "the workers have recovered everything", WITHIN_S)
        for hand in hands:
            hand.signal(signal.SIGTERM)
        for hand in hands:
            stage.note(story.id, f"worker {hand.pid} took {_recovered(hand)} actions")
            hand.ended(WITHIN_S)
    with stage.agent(part) as again:
        stage.note(story.id, "the same script is run again: nothing is sent, all is known")
        stage.hear(again)


def _recovered(worker: Child) -> int:
    line = worker.line(WITHIN_S)
    return int(json.loads(line)["recovered"]) if line else 0


def play_frozen(stage: Stage, story: Story) -> None:
    """Story f: the agent freezes with a refusal in its hands, and wakes after the take-over."""
    world, order = stage.worlds[AFTERSALES], story.intents[0].order
    asks = b"GET /tickets/T860"  # whose ticket is it? the last thing before the outcome is written

    def posts() -> int:
        return len(world.arrivals("tickets", method="POST", order_id=order))

    with HeldLine(int(world.url.rpartition(":")[2]), hold=asks) as line:
        held = replace(stage.places, urls={**stage.places.urls, AFTERSALES: line.url})
        part = f"inspect:{story.id}:{order}:{story.request}"
        with stage.agent(part, places=held) as agent, ExitStack() as stack:
            wait_until(
                lambda: any(came.target == "/tickets/T860" for came in world.arrivals("tickets")),
                "the agent has been refused, and asks whose ticket that is",
                WITHIN_S,
            )
            agent.signal(signal.SIGSTOP)
            line.release()
            stage.note(story.id, f"the agent (process {agent.pid}) is frozen with the refusal in "
                       "its hands, not yet on record")  # fmt: skip
            worker = stack.enter_context(stage.worker())
            worker.go()
            wait_until(lambda: posts() == 2, "a worker has taken over and sent again", WITHIN_S)
            agent.signal(signal.SIGCONT)
            stage.note(story.id, f"worker {worker.pid} has taken over, its attempt is under way; "
                       "now the agent wakes")  # fmt: skip
            stage.hear(agent)
            world.wait_idle()
            wait_until(lambda: stage.at_rest(story), "the ticket is settled", WITHIN_S)
            worker.signal(signal.SIGTERM)
            worker.ended(WITHIN_S)

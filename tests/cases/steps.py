"""Plays what happens in a case, step by step, and compares what was told with what must be told."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from ascertain import AscertainError, IntentConflict
from ascertain.testing.crash import point
from tests.cases.stage import Stage
from tests.cases.tables import (
    Call,
    Facts,
    Loop,
    Recover,
    Seen,
    Take,
    Together,
    Told,
    Verdict,
)

LOOK_S = 0.01
STEP_WITHIN_S = 30.0


class Player:
    """Plays the steps of one process."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._pause = threading.Event()

    def play(self, step: Any) -> None:
        match step:
            case Call():
                self.call(step)
            case Together(steps):
                self._together(steps)
            case Loop():
                asyncio.run(self._loop(step))
            case Recover():
                self._recover(step)
            case Seen():
                self._seen(step)
            case Facts():
                self._facts(step)
            case Take():
                self._take(step)
            case Verdict():
                self._verdict(step)
            case _:
                raise TypeError(f"{step!r} is no step")

    # ------------------------------------------------------------------------------ calls

    def call(self, step: Call) -> None:
        """Make a call in this thread, and hear what it says."""
        self._when(step.when)
        began = time.monotonic()
        with self._session(step) as session:
            try:
                action = self._made(step, session)
            except (AscertainError, TimeoutError) as error:
                self._heard(step, _error(error), began)
            else:
                self._heard(step, _action(action), began)

    def _made(self, step: Call, session: Any) -> Any:
        tool = self.stage.tools[step.tool]
        if step.raw is not None:
            return session.call(step.tool, step.raw, call_id=step.call_id)
        options = tool.options(call_id=step.call_id, ordinal=step.ordinal, deadline=step.deadline_s)
        return options(**_arguments(tool, step))

    def _session(self, step: Any) -> Any:
        return self.stage.app.session(
            step.session, principal=step.principal, turn=getattr(step, "turn", ""),
            tenant=getattr(step, "tenant", "default"),
        )  # fmt: skip

    def _together(self, steps: tuple[Any, ...]) -> None:
        broken: list[BaseException] = []

        def run(step: Any) -> None:
            try:
                self.play(step)
            except BaseException as error:
                broken.append(error)

        threads = [threading.Thread(target=run, args=(step,), daemon=True) for step in steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(STEP_WITHIN_S)
            assert not thread.is_alive(), f"one of {steps} still goes on after {STEP_WITHIN_S} s"
        if broken:
            raise broken[0]

    async def _loop(self, step: Loop) -> None:
        """Calls as tasks; a cancelled caller hears nothing."""
        if step.cancel_at:
            self.stage.app.hands.on_effect = _cancelling(step.cancel_at)
        try:
            async with asyncio.TaskGroup() if step.group else _Loose() as tasks:
                made = {
                    call.name or call.tool: tasks.create_task(self._call_async(call, step.group))
                    for call in step.calls
                }
                if step.cancel and step.cancel_when is not None:
                    await self._until(
                        lambda: self._arrived(step.cancel_when), str(step.cancel_when)
                    )
                for name in step.cancel:
                    made[name].cancel()
        except* AscertainError as group:
            self.stage.note("story", {"told": f"the task group ended with {group.exceptions}"})
        for seen in step.seen:
            await self._until(lambda seen=seen: self._is_seen(seen), str(seen))

    async def _call_async(self, step: Call, raises: bool) -> None:
        if step.when is not None:
            await self._until(lambda: self._arrived(step.when), str(step.when))
        tool = self.stage.tools[step.tool]
        began = time.monotonic()
        async with self._session(step):
            try:
                options = tool.options(call_id=step.call_id, deadline=step.deadline_s)
                made = options(**_arguments(tool, step))
                action = await made if asyncio.iscoroutine(made) else made
            except AscertainError as error:
                self._heard(step, _error(error), began)
                return
            except asyncio.CancelledError:
                self.stage.note("story", {"told": f"{step.name or step.tool}: cancelled"})
                raise
            self._heard(step, _action(action), began)
            if raises:
                action.unwrap()

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + STEP_WITHIN_S
        while not holds():
            assert time.monotonic() < until, f"not within {STEP_WITHIN_S} s: {what}"
            waited = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waited.wait(), LOOK_S)

    # ------------------------------------------------------------------------- other steps

    def _facts(self, step: Facts) -> None:
        began = time.monotonic()
        with self._session(step) as session:
            facts = session.facts()
            whole = session.actions(whole=True)
        said = {
            "workflow": facts["workflow_state"], "next": facts["next_allowed"],
            "say": facts["say"]["en"], "facts": facts,
            "actions": [f"{one.tool}:{one.state}" for one in whole],
        }  # fmt: skip
        self._heard(step, said, began)

    def _take(self, step: Take) -> None:
        began = time.monotonic()
        with self._session(step) as session:
            try:
                chosen = self._id(step.action) if step.action else None
                facts = session.take(step.entry, chosen)
            except AscertainError as error:
                self._heard(step, _error(error), began)
                return
        states = [f"{one['name']}:{one['state']}" for one in facts["actions"]]
        said = {
            "workflow": facts["workflow_state"], "next": facts["next_allowed"],
            "say": facts["say"]["en"], "facts": facts, "actions": states,
        }  # fmt: skip
        self._heard(step, said, began)

    def _verdict(self, step: Verdict) -> None:
        began = time.monotonic()
        try:
            action = self.stage.app.resolve(
                self._id(step.action), confirmed=step.confirmed, not_done=step.not_done,
                evidence="seen in the provider's console",
            )  # fmt: skip
        except AscertainError as error:
            self._heard(step, _error(error), began)
        else:
            self._heard(step, _action(action), began)

    def _id(self, name: str) -> str:
        for one in self.stage.lines("told"):
            if one["name"] == name and "id" in one:
                return one["id"]
        return self.stage.rows(name)[0].id

    def _recover(self, step: Recover) -> None:
        """The worker passes. Between two passes it waits for what is due."""
        self._when(step.when)
        if step.once:
            taken = self.stage.app.recover()
            self.stage.note("story", {"told": f"one pass of the worker took {taken}"})
            return
        until = time.monotonic() + (step.for_s or step.within_s)
        while True:
            self.stage.app.recover()
            if step.for_s and time.monotonic() > until:
                return
            if not step.for_s and self._is_over(step):
                self.stage.note("story", {"told": f"the worker got to {step.until or 'the end'}"})
                return
            if time.monotonic() > until:
                self._wrong(f"the worker did not get to {step.until or 'an end'}")
                return
            due_at = self.stage.app.ledger.next_due_at()
            wait_s = 0.05 if due_at is None else due_at - self.stage.app.hands.clock()
            self._pause.wait(min(max(wait_s, 0.005), 0.1))

    def _is_over(self, step: Recover) -> bool:
        if step.until is None:
            return self.stage.app.ledger.next_due_at() is None
        tool, word = step.until
        rows = self.stage.rows(tool)
        if word == "review":
            return bool(rows) and all(row.review is not None for row in rows)
        if word == "counted":
            return bool(rows) and all(row.due_at is None for row in rows)
        return bool(rows) and all(str(row.state) == word for row in rows)

    def _seen(self, step: Seen) -> None:
        self._wait(lambda: self._is_seen(step), str(step), step.within_s)

    def _is_seen(self, step: Seen) -> bool:
        if step.effects and len(self.stage.effects(step.tool)) < step.effects:
            return False
        if not step.state and not step.reason:
            return True
        return any(
            (not step.state or str(row.state) == step.state)
            and (not step.reason or row.reason == step.reason)
            for row in self.stage.rows(step.tool)
        )

    def _arrived(self, when: tuple[str, int] | None) -> bool:
        return when is None or len(self.stage.posts(when[0])) >= when[1]

    def _when(self, when: tuple[str, int] | None) -> None:
        self._wait(lambda: self._arrived(when), str(when), STEP_WITHIN_S)

    def _wait(self, holds: Callable[[], bool], what: str, within_s: float) -> None:
        until = time.monotonic() + within_s
        while not holds():
            if time.monotonic() > until:
                self._wrong(f"never came: {what}")
                return
            self._pause.wait(LOOK_S)

    # ------------------------------------------------------------------------- what is heard

    def _wrong(self, text: str) -> None:
        self.stage.note("wrong", {"text": text})

    def _heard(self, step: Any, said: dict[str, Any], began: float) -> None:
        took_s = time.monotonic() - began
        name = getattr(step, "name", "") or getattr(step, "tool", type(step).__name__)
        line = {"name": name, "step": shown(step), "took_s": round(took_s, 3), **said}
        before = self.stage.lines("told")
        self.stage.note("told", line)
        self.stage.note(
            "story", {"told": f"{line['step']} -> {_shown_said(said)} ({took_s:.2f} s)"}
        )
        for text in differences(step.then, line, before):
            self._wrong(f"{line['step']}: {text}")


def _cancelling(at: str) -> Callable[[str, object], None]:
    """Cancel the task that passes this crash point, once."""
    passed: list[str] = []

    def look(side: str, effect: object) -> None:
        if point(effect, side) == at and not passed:
            passed.append(at)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()

    return look


class _Loose:
    """Tasks of which none minds what becomes of the others."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        return self

    def create_task(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)
        return task

    async def __aexit__(self, *_: object) -> None:
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(ended, BaseException) and not isinstance(ended, asyncio.CancelledError):
                raise ended


def differences(then: Told, line: dict[str, Any], before: list[dict[str, Any]]) -> list[str]:
    """What was told otherwise than it must be."""
    wrong = []
    for name in ("state", "how", "kind", "error", "accepted", "workflow"):
        wanted, got = getattr(then, name), line.get(name)
        if wanted is not None and got != wanted:
            wrong.append(f"{name} is {got!r} and must be {wanted!r}")
    for name in ("next", "actions", "fields"):
        wanted = getattr(then, name)
        if wanted is not None and sorted(line.get(name) or ()) != sorted(wanted):
            wrong.append(f"{name} is {line.get(name)} and must be {list(wanted)}")
    missing = [entry for entry in then.offers if entry not in (line.get("next") or ())]
    if missing:
        wrong.append(f"not offered: {missing}; offered: {line.get('next')}")
    if then.says and then.says not in line.get("say", ""):
        wrong.append(f"says {line.get('say')!r} without {then.says!r}")
    if then.ref is not None and (line.get("ref") is not None) is not then.ref:
        wrong.append(f"reference {line.get('ref')!r}, must {'be' if then.ref else 'not be'} there")
    if then.value is not None and line.get("value") != then.value:
        wrong.append(f"value {line.get('value')!r}, must be {then.value!r}")
    if then.same_as is not None:
        other = next((one for one in before if one["name"] == then.same_as), {})
        if line.get("id") is None or line.get("id") != other.get("id"):
            wrong.append(f"is not the same action as {then.same_as}")
    if then.retry_after_s is not None:
        least, most = then.retry_after_s
        advice = (line.get("fact") or {}).get("retry_after_s")
        if advice is None or not least <= advice <= most:
            wrong.append(f"retry_after_s is {advice}, must be between {least} and {most}")
    if then.within_s is not None and line["took_s"] > then.within_s:
        wrong.append(f"took {line['took_s']} s, allowed were {then.within_s} s")
    if line["took_s"] < then.after_s:
        wrong.append(f"took {line['took_s']} s, must take {then.after_s} s at least")
    return wrong


def _arguments(tool: Any, step: Call) -> dict[str, Any]:
    names = tool.schema()["properties"]
    return {
        name: getattr(step, name)
        for name in ("order", "text", "amount", "variant")
        if name in names and (name == "order" or getattr(step, name))
    }


def _action(action: Any) -> dict[str, Any]:
    facts = action.facts()
    return {
        "id": action.id, "state": str(action.state), "how": action.how, "kind": action.kind,
        "ref": action.provider_ref, "final": bool(action.record.final), "key": action.key,
        "say": action.say(), "zh": action.say("zh-CN"), "next": facts["next_allowed"],
        "workflow": facts["workflow_state"], "fact": facts["actions"][0],
        "accepted": facts["actions"][0].get("accepted", False), "facts": facts,
        "order": None, "tool": action.tool, "read": not action.id,
        "value": action.result if action.confirmed else None,
    }  # fmt: skip


def _error(error: BaseException) -> dict[str, Any]:
    said: dict[str, Any] = {"error": type(error).__name__, "say": str(error)}
    if isinstance(error, IntentConflict):
        said["fields"] = error.context.get("fields")
    return said


def shown(step: Any) -> str:
    default = type(step)
    parts = [
        f"{name}={getattr(step, name)!r}"
        for name in step.__dataclass_fields__
        if name != "then" and getattr(step, name) != _default_of(default, name)
    ]
    return f"{default.__name__.lower()}({', '.join(parts)})"


def _default_of(kind: type, name: str) -> Any:
    return kind.__dataclass_fields__[name].default  # type: ignore[attr-defined]


def _shown_said(said: dict[str, Any]) -> str:
    if "error" in said:
        return f"{said['error']}: {said['say']}"
    if "state" not in said:
        return f"{said['workflow']} {said['actions']} next {said['next']}"
    ref = f" {said['ref']}" if said["ref"] else ""
    reason = said["fact"].get("reason", "")
    return (
        f"{said['state']}{ref} [{reason}] {said['how']}, says {said['say']!r}, next {said['next']}"
    )

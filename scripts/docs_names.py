"""Blocks that come from the face: contracts, errors, names, the World, the repository."""

import inspect
import re
import tomllib
from pathlib import Path

import ascertain
from ascertain import errors
from ascertain.demo.sabotage import SABOTAGES
from ascertain.demo.stories import STORIES
from ascertain.model.contract import Budget, Contract, KeyFormat, LookupPromise, RefusalRule
from ascertain.runtime import promises
from ascertain.runtime.tool import Tool, _Declared
from ascertain.testing import crash
from ascertain.testing.world import FIVE_CONTRACTS, FOURTEEN, catalogue
from scripts.docs_words import block, code, default_of, field_rows, params, prose, summary, table

ROOT = Path(__file__).resolve().parent.parent

# ---- contracts

# What the docstring of the promises leaves to that of the contract, or to the type.
MORE_PROMISES = {
    "wording": params(Contract)["wording"],
    "key_format": "`hex`, `uuid` or `base32`, or a `KeyFormat` (see below)",
    "key_margin": params(Contract)["key_margin_s"],
    "consent": "checked before the call: the effect that the person must have agreed to",
    "undo": "the compensating tool; `@tool.compensate` says it. Undeclared = irreversible",
    "undo_within": "until when it can",
}
NO_FIELD = {
    "permission": "none",
    "preconditions": "none",
    "consent": "none",
    "normalise": "none",
    "breaker": "of a write `Breaker()`",
    "approval": "False",
    "name": "of the function",
    "noun": "from the name",
    "schema": "of the function",
}
DURATION = "seconds, or `10s`, `15m`, `24h`, `7d`"


def told(kind):
    """What the list in a docstring says, by name: `* ``a``, ``b``: text. ``c``: text.`"""
    known = "|".join(promises.Promises.__annotations__)
    group = rf"((?:``(?:{known})``, )*``(?:{known})``): "
    found = {}
    for item in re.findall(r"^\* (.*?)(?=^\* |\Z)", inspect.getdoc(kind), re.DOTALL | re.MULTILINE):
        _, *parts = re.split(group, " ".join(item.split()))
        for names, text in zip(parts[::2], parts[1::2], strict=True):
            found |= dict.fromkeys(re.findall(r"\w+", names), prose(text).rstrip(".; "))
    return found


@block("promises")
def all_promises():
    said = told(promises.ReadPromises) | told(promises.Promises) | MORE_PROMISES
    names = promises.Promises.__annotations__
    mapped = {**promises._SECONDS, "key_format": "key", "fresh": "fresh_s"}
    rows = []
    for name in names:
        field = Contract.__dataclass_fields__.get(mapped.get(name, name))
        default = NO_FIELD.get(name) or default_of(field)
        where = "" if name in promises.ReadPromises.__annotations__ else "write"
        unit = DURATION if name in promises._SECONDS else ""
        rows.append([f"`{name}`", where or "any", default, unit, said[name].rstrip(".")])
    return table(["promise", "of", "default", "unit", "means"], rows)


BUDGET = {
    "turn_sends": "Sends that one call may make.",
    "turn_s": "How long one call tries.",
    "sends": "Sends of the action in all, over restarts, layers and hidden retries.",
    "unanswered": "Look-ups without an answer until a person decides.",
    "horizon_s": "After the first send: nothing is sent later than this.",
    "send_deadline_s": "How long one send, or one look-up, may take.",
    "backoff_s": "The first wait before a repeat; it doubles; jitter makes it half to full.",
    "backoff_max_s": "The longest such wait.",
}


@block("budget")
def budget():
    return table(["field", "default", "unit", "means"], field_rows(Budget, BUDGET))


@block("lookup-promise")
def lookup_promise():
    rows = field_rows(LookupPromise, params(LookupPromise))
    return table(["field", "default", "unit", "means"], rows)


@block("refusal-rule")
def refusal_rule():
    return table(
        ["field", "default", "unit", "means"], field_rows(RefusalRule, params(RefusalRule))
    )


@block("breaker-fields")
def breaker_fields():
    rows = field_rows(promises.Breaker, params(promises.Breaker))
    return table(["field", "default", "unit", "means"], rows)


@block("key-format")
def key_format():
    return table(["field", "default", "unit", "means"], field_rows(KeyFormat, params(KeyFormat)))


# ---- errors


def family(kind, depth=0):
    yield kind, depth
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from family(below, depth + 1)


@block("errors")
def error_tree():
    lines = []
    for kind, depth in family(errors.AscertainError):
        step = f" *Next:* {kind.next_step}" if kind.next_step else ""
        lines.append(f"{'  ' * depth}- **{kind.__name__}** `{kind.code}`: {summary(kind)}{step}")
    return "\n".join(lines)


# ---- testing

WHEN = {
    "never": "none",
    "now": "before the reply",
    "twice": "two",
    "working": "after `seconds`",
    "transit": "lands after `seconds`",
    "accepted": "after `seconds`, as a job",
}
SAYS = {
    "record": "the record",
    "empty": "an empty body",
    "handle": "a handle",
    "nothing": "nothing",
}


def reply_of(row):
    if row.wire == "lost":
        return "none: the connection is lost"
    http_status = 202 if row.when == "accepted" else row.http
    said = f"{http_status}, " + (f"`{row.code}`" if row.says == "error" else SAYS[row.says])
    return f"{said}, cut off" if row.wire == "truncated" else said


@block("behaviours")
def behaviours():
    rows = [
        [f"`{row.name}`", WHEN[row.when], reply_of(row), code(*row.params)]
        for row in catalogue.ROWS.values()
    ]
    return table(["behaviour", "effect", "reply", "parameters"], rows)


@block("lookup-behaviours")
def lookup_behaviours():
    return code(*catalogue.LOOKUPS)


@block("fourteen")
def fourteen():
    rows = [
        [name, code(*dict.fromkeys(one.name for one in several))]
        for name, several in FOURTEEN.items()
    ]
    return table(["what a provider does", "behaviours"], rows)


@block("five-contracts")
def five_contracts():
    rows = [
        [
            f"`{name}`",
            "yes" if one.honours_key else "no",
            ("yes, and it fences" if one.lookup_fences else "yes") if one.lookup else "no",
        ]
        for name, one in FIVE_CONTRACTS.items()
    ]
    return table(["contract", "deduplicates by key", "can be asked by key"], rows)


@block("crash-points")
def crash_points():
    return code(*(kind.__name__.lower() for kind in crash.EFFECTS))


# ---- repository, names


@block("layers")
def layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = [
        one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers"
    ]
    rows = [layer.replace("(", "").replace(")", "") for layer in contract["layers"]]
    return "\n".join(["```", *rows, "```"])


@block("make-targets")
def make_targets():
    found = re.findall(r"^([a-z]+):.*?## (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return table(["target", "does"], [[f"`make {name}`", text] for name, text in found])


INSIDE = {"guarded", "guarded_async"}  # how tools reach their app


def members(kind):
    """Public methods and properties with their first sentence, those of our own bases too."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("ascertain.")]
    for name, member in [item for base in ours for item in vars(base).items()]:
        thing = member.fget if isinstance(member, property) else member
        if name.startswith("_") or name in INSIDE:
            continue
        if not callable(thing) or not inspect.getdoc(thing):
            continue
        call = "" if isinstance(member, property) else "()"
        yield f"- `{name}{call}`: {summary(thing)}"


WITH_MEMBERS = ("Action", "Ascertain", "Attempt", "Session")


@block("names")
def names():
    lines = []
    for name in ascertain.__all__:
        thing = getattr(ascertain, name)
        about = thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
        lines += [f"### {name}", "", summary(about), ""]
        said = params(about) if inspect.isclass(about) else {}
        lines += [f"- `{word}`: {text}" for word, text in said.items()]
        if name in WITH_MEMBERS:
            lines += members(thing)
        lines += [""] if lines[-1] else []
    return "\n".join(lines).strip()


@block("tool-members")
def tool_members():
    return "\n".join([*members(_Declared), *members(Tool)])


@block("demo-stories")
def demo_stories():
    broken = {}
    for name, sabotage in SABOTAGES.items():
        broken.setdefault(sabotage.story, []).append(f"`{name}`")
    return table(
        ["", "story", "what happens", "broken by"],
        [
            [story.id, story.title, story.what, ", ".join(broken.get(story.id, []))]
            for story in STORIES.values()
        ],
    )

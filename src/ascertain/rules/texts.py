"""What a person is told, as data, in English and Simplified Chinese.

Never more than the receipt ("submitted, T900, result pending"), never "failed" while unknown, and
nothing that invites a blind repeat. A tool's own sentences (``say``) come first.
"""

from __future__ import annotations

from ascertain.model.action import ActionRecord
from ascertain.model.contract import Contract
from ascertain.model.outcome import Evidence, Kind
from ascertain.model.tables import State
from ascertain.rules.approval import CASES as FOR_APPROVAL
from ascertain.rules.approval import DECLINED
from ascertain.rules.breaker import WAITS as FOR_CIRCUIT
from ascertain.rules.chain import not_started
from ascertain.rules.news.items import LATER, PARTLY

LANGUAGES = ("en", "zh-CN")

SENTENCES: dict[str, tuple[str, str]] = {
    "prepared": ("The {name} has not been sent yet.", "{name}尚未发出。"),
    "awaits_approval": (
        "The {name} waits for approval; nothing has been sent.",
        "{name}等待审批，尚未提交。",
    ),
    "manual": (
        "The {name} is not sent automatically now; it is left to a person, nothing has been sent.",
        "{name}暂停自动提交，已转人工处理，尚未提交。",
    ),
    "declined": (
        "The {name} was not approved; nothing was sent.",
        "{name}未获批准，没有提交。",
    ),
    "sent": ("The {name} is being sent; there is no answer yet.", "{name}正在提交，尚无答复。"),
    "confirmed": (
        "The {name} is submitted: {provider_ref}. Its result is pending.",
        "{name}已提交：{provider_ref}，结果待定。",
    ),
    "confirmed_no_ref": ("The {name} is confirmed.", "{name}已确认。"),
    "confirmed_partly": (
        "Part of the {name} is submitted; some items were declined.",
        "{name}部分已提交，部分未被受理。",
    ),
    "confirmed_later": (
        "Part of the {name} is submitted; some items were not taken for now.",
        "{name}部分已提交，部分暂未受理。",
    ),
    "disputed": (
        "Records about the {name} contradict each other; a person is checking it.",
        "关于{name}的记录相互矛盾，正在人工核查。",
    ),
    "found_not_done": (
        "A person found that the {name} was not made.",
        "经人工核查，{name}没有提交。",
    ),
    "found_done": (
        "A person found that the {name} was submitted.",
        "经人工核查，{name}已提交。",
    ),
    "unknown": ("Not confirmed as submitted yet; it is being checked.", "暂未确认提交"),
    "accepted": ("The {name} is accepted and in progress.", "{name}已受理，处理中。"),
    "in_review": (
        "The state of the {name} is not confirmed yet; a person will check it.",
        "申请状态暂时未确认，会人工核查",
    ),
    "left_open": ("The {name} is awaiting confirmation.", "{name}待确认"),
    "rejected_business": (
        "The provider declined the {name}{because}.",
        "服务方未受理{name}{because}。",
    ),
    "rejected_already_exists": (
        "There already is one{related}; no new {name} was made.",
        "已有处理中的记录{related}，没有新建{name}。",
    ),
    "rejected_invalid": (
        "The {name} was not accepted: some details need correcting.",
        "{name}未被受理：部分信息需要更正。",
    ),
    "rejected_auth": (
        "The {name} was not made: you need to log in or be authorised for it.",
        "{name}未提交：需要登录或授权。",
    ),
    "rejected_temporary": (
        "The provider is not taking it now; the {name} is not confirmed as submitted yet.",
        "暂未确认提交",
    ),
    "rejected_not_done": ("The {name} was not made.", "{name}没有提交。"),
    "waits_for": (
        "The {name} has not been started: it waits for {step}.",
        "{name}尚未开始：需等待{step}。",
    ),
    "chain_turned_back": (
        "The {name} was not made, because what belongs to it is being undone.",
        "{name}没有提交：相关操作正在撤销。",
    ),
    "chain_stopped": (
        "The {name} was not made: you asked to stop.",
        "{name}没有提交：已按要求停止。",
    ),
    "undo_not_wanted": (
        "The {name} was not made: a person has settled what it reverses.",
        "{name}没有提交：相关操作已由人工处理。",
    ),
    "undo_in_review": (
        "The {name} was submitted and could not be undone by itself; a person will check it.",
        "{name}已提交，未能自动撤销，会人工核查。",
    ),
    "compensated": ("The {name} has been reversed.", "{name}已撤销。"),
    "context_pending": ("Preparing your data; one moment, please.", "请稍等，正在准备数据"),
    "context_missing": (
        "To go on with the {name}, I need to know: {keys}.",
        "要继续办理{name}，请告诉我：{keys}。",
    ),
    "context_stale": (
        "What is known ({keys}) may have changed, so the {name} was not made; please confirm it.",
        "{keys}可能已有变化，{name}没有提交；请再确认。",
    ),
    "context_in_doubt": (
        "It is not confirmed yet what became of the step before ({keys}); the {name} waits for it.",
        "上一步（{keys}）尚未确认，{name}暂未提交。",
    ),
    "rate_used_up": (
        "The {name} was not made: too much is under way just now; nothing was sent.",
        "{name}没有提交：目前请求过多，尚未发出。",
    ),
    "read": ("Read.", "已查询。"),
    "read_unavailable": ("It cannot be looked up right now.", "暂时无法查询。"),
}

WORKFLOW: dict[str, tuple[str, str]] = {
    "not_started": ("Nothing has been started.", "尚未开始。"),
    "running": ("In progress.", "处理中。"),
    "completed": ("{Wish}.", "{wish}已完成。"),
    "partially_completed": (
        "{wish}, {pending} awaiting confirmation",
        "{wish}完成、{pending}待确认",
    ),
    "awaiting_confirmation": ("Not confirmed yet.", "暂未确认提交"),
    "needs_review": (
        "Not confirmed yet; a person will check it.",
        "申请状态暂时未确认，会人工核查",
    ),
    "partly_declined": (
        "{wish} in part; some items were declined",
        "{wish}部分完成，部分未被受理",
    ),
    "left": (
        "It was broken off before its end; what was made so far: {done}.",
        "办理中途中断，目前已提交：{done}。",
    ),
    "refused": ("It was declined.", "未被受理。"),
    "compensating": ("It is being undone.", "正在撤销。"),
    "compensated": ("It has been undone.", "已撤销。"),
}

UNDO_REVIEWS = frozenset({"undo_stuck", "irreversible", "undo_too_late", "undo_removed"})
HELD = frozenset({"rate_used_up", *(name for name in SENTENCES if name.startswith("context_"))})
"""Why a call was held before anything was sent; the reason of its action."""

_BY_KIND: dict[Kind | None, str] = {
    Kind.BUSINESS: "rejected_business",
    Kind.ALREADY_EXISTS: "rejected_already_exists",
    Kind.INVALID: "rejected_invalid",
    Kind.KEY_REUSE: "rejected_invalid",
    Kind.AUTH: "rejected_auth",
}


def which(record: ActionRecord, contract: Contract) -> str:
    """The sentence that fits what is known."""
    if record.disputed:
        found = "found_not_done" if record.state is State.CONFIRMED else "found_done"
        return found if record.overruled else "disputed"
    if record.kind is Kind.WITHDRAWN and record.reason in HELD:
        return record.reason
    match record.state:
        case State.UNKNOWN:
            if record.review is not None:
                return "in_review"
            if record.evidence is Evidence.WORKING:
                return "accepted"
            return "left_open" if contract.best_effort else "unknown"
        case State.PREPARED if record.review == FOR_CIRCUIT:
            return "manual"
        case State.PREPARED if record.review in FOR_APPROVAL:
            return "awaits_approval"
        case State.REJECTED if contract.is_read:
            return "read_unavailable" if not record.final else _BY_KIND.get(
                record.kind, "rejected_not_done"
            )  # fmt: skip
        case State.REJECTED if not_started(record):
            return record.reason.partition(":")[0]
        case State.REJECTED:
            if not record.final:
                return "rejected_temporary" if record.review is None else "in_review"
            if record.reason == DECLINED:
                return "declined"
            return _BY_KIND.get(record.kind, "rejected_not_done")
        case State.CONFIRMED if contract.is_read:
            return "read"
        case State.CONFIRMED if record.review in UNDO_REVIEWS:
            return "undo_in_review"
        case State.CONFIRMED if record.review == LATER:
            return "confirmed_later"
        case State.CONFIRMED if record.reason in PARTLY:
            return "confirmed_partly"
        case State.CONFIRMED:
            return "confirmed" if record.provider_ref else "confirmed_no_ref"
        case _:
            return str(record.state)


def say(record: ActionRecord, contract: Contract, language: str = "en") -> str:
    """One honest sentence for the person."""
    chinese = language.startswith("zh")
    own = contract.say_zh if chinese else contract.say
    key = which(record, contract)
    template = own.get(key) or (own.get(str(record.state)) if _plain(key, record) else None)
    template = template or SENTENCES[key][int(chinese)]
    return _fill(template, _values(record, contract, chinese))


def name_of(contract: Contract, language: str = "en") -> str:
    """What a person calls the tool's effect: the declared name, else its noun."""
    own = contract.say_zh if language.startswith("zh") else contract.say
    return own.get("name") or contract.noun.replace("_", " ")


def label(contract: Contract, key: str, chinese: bool) -> str:
    """What a person calls a context key: as declared (``say={"order_id": ...}``)."""
    own = contract.say_zh if chinese else contract.say
    return own.get(key) or key.replace("_", " ")


def _asked_for(contract: Contract, code: str) -> list[str]:
    """The keys for which a call was held: those that fill a parameter, if any of them does."""
    keys = code.split(",")
    filling = {*contract.context.values(), *contract.either.values()}
    return [key for key in keys if key in filling] or keys


def _plain(key: str, record: ActionRecord) -> bool:
    """A tool's sentence for a state does not speak for its special cases (disputed, in review)."""
    return key == str(record.state) or (
        key.startswith(("confirmed", "rejected"))
        and key not in ("confirmed_partly", "confirmed_later")
    )


def _values(record: ActionRecord, contract: Contract, chinese: bool) -> dict[str, str]:
    code = clean(record.code or "", 80)
    related = clean(record.related_ref or "", 120)
    if chinese:
        because, exists = f"（{code}）" if code else "", f"（{related}）" if related else ""
    else:
        because, exists = f" ({code})" if code else "", f" ({related})" if related else ""
    return {
        "name": name_of(contract, "zh-CN" if chinese else "en"),
        "provider_ref": clean(record.provider_ref or "", 120),
        "related_ref": related,
        "code": code,
        "keys": ("、" if chinese else ", ").join(
            label(contract, key, chinese) for key in _asked_for(contract, code)
        ),
        "because": because,
        "related": exists,
        "step": clean(record.reason.partition(":")[2], 80),
    }


def _fill(template: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        template = template.replace("{" + name + "}", value)
    return template


MASK = "[masked]"
"""What stands for a value that a contract redacts: that there is one, and nothing of it."""

_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def clean(text: str, cap: int) -> str:
    """Provider text as harmless data: no control or direction characters, capped in length."""
    kept = "".join(c for c in text if (c.isprintable() or c == " ") and c not in _BIDI)
    return kept if len(kept) <= cap else f"{kept[: cap - 1]}…"

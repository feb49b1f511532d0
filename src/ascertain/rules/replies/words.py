"""The words by which a reply claims something, in English and Simplified Chinese, as data.

Deliberately small: whole words and their forms, no grammar. What these words do not catch is not
checked; what they catch must be a claim. ``tests/replies`` holds both to a corpus.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Claim(StrEnum):
    """What a clause claims of an effect."""

    DONE = "done"  # it was submitted, made, sent
    ACCEPTED = "accepted"  # the provider has taken it
    OUTCOME = "outcome"  # what it was for has come about: refunded, approved, delivered
    NOT_DONE = "not_done"  # it was not made; refused
    UNDONE = "undone"  # it was reversed
    OPEN = "open"  # it is not known
    REPEAT = "repeat"  # do it once more
    TO_APPROVE = "to_approve"  # it was handed on for approval


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# -- English; all of it is matched in lower case -----------------------------------------------

DONE_WORDS = (
    "submitted|created|filed|opened|raised|placed|booked|reserved|scheduled|registered|requested|"
    "issued|processed|completed|complete|done|made|recorded|logged|arranged|sent|confirmed|"
    "successful|successfully|finished|initiated|launched|executed|notified|emailed"
)
EN_DONE = _any(
    rf"\b(?:{DONE_WORDS})\b",
    r"\b(?:went|gone) through\b",
    r"\ball set\b",
    r"\btaken care of\b",
    r"\bsucceeded\b",
    r"\bis on file\b|\bput in (?:a|an|the|your)\b|\brequest is in\b",
    r"\breceived (?:your|the) (?:\w+ )?(?:ticket|request)\b",
)
EN_ACCEPTED = _any(r"\baccepted\b", r"\bin progress\b")
EN_OUTCOME = _any(
    r"\b(?:refunded|reimbursed|credited|repaid|approved|granted|resolved|repaired|fixed|replaced|"
    r"exchanged|delivered|arrived|shipped|settled|paid|compensated)\b",
    r"\bmoney (?:is|was) back\b|\b(?:refund|money|replacement) (?:is|are) on (?:its|the) way\b",
    r"\bback (?:in|on|to) your (?:account|card)\b",
)
EN_FUTURE_OUTCOME = _any(
    r"\b(?:will|'ll|going to) (?:\w+ )?(?:be )?(?:\w+ )?(?:refunded|reimbursed|credited|approved|"
    r"replaced|repaired|paid|delivered)\b",
    r"(?:\bwill|'ll) (?:get|have) (?:your|the) (?:money|payment) back\b",
    r"\bwill (?:\w+ )?(?:receive|get) (?:your|the|a) (?:\w+ )?"
    r"(?:refund|money|replacement|credit)\b",
)
EN_NOT_DONE = _any(
    r"\b(?:failed|failure|unsuccessful|declined|rejected|refused|denied)\b",
    r"\b(?:wasn't|isn't|hasn't|haven't|weren't|didn't|couldn't|could not|cannot|can't|was not|"
    r"has not|have not|did not|were not|is not|never|unable to|not able to)\b"
    r"(?: \w+){0,3} (?:submit\w*|creat\w*|fil(?:e|ed)|open\w*|plac(?:e|ed)|book\w*|reserv\w*|"
    r"schedul\w*|send|sent|made|make|process\w*|complet\w*|go through|gone through|went through|"
    r"succe\w*|register\w*|issue[d]?|place[d]?|done|request\w*|taken effect|happen\w*)\b",
    r"\b(?:no|nothing)\b(?: \w+){0,3} (?:was|were|has been|have been) (?:\w+ )?"
    rf"(?:{DONE_WORDS})\b",
    r"\bdoes not exist\b|\bdoesn't exist\b",
    r"\bdid not (?:go|work)\b|\bdidn't (?:go|work)\b",
)
EN_UNDONE = _any(
    r"\b(?:cancelled|canceled|reversed|undone|revoked|withdrawn|rolled back|voided|released)\b"
)
EN_OPEN = _any(
    r"(?:\bnot|n't|\bnever|\bcannot|\byet to|\bno one|\bnobody|\bunable to)(?: \w+){0,3}? "
    r"(?:confirm(?:ed)?|verif(?:y|ied)|sure|certain|clear|known|know|knows|tell|see)\b",
    r"\b(?:unconfirmed|unclear|unknown|uncertain|unsure|pending|awaiting|waiting)\b",
    r"\b(?:may|might|could(?! not)) (?:\w+ )?(?:have|be)\b",
    r"\b(?:whether|perhaps|maybe|possible|possibly|probably|presumably|apparently|seems?|appears?|likely)\b",
    r"\b(?:checking|being (?:\w+ )?\w+|looking into|investigat\w+|trying|tried|attempt\w*)\b",
    r"\bsent (?:the|your|this|that|a) request\b|\brequest was sent\b",
    r"\bno (?:\w+ )?(?:answer|reply|response|confirmation)\b",
)
EN_STRONGLY_OPEN = _any(
    r"(?:\bnot|n't) (?:yet )?(?:been )?(?:yet )?(?:confirmed|known)\b",
    r"\b(?:unconfirmed|unknown|unclear|uncertain)\b",
    r"\b(?:awaiting|waiting for|pending) confirmation\b",
)
EN_REPEAT = _any(
    r"\b(?:submit|send|place|create|book|file|order|request|do|make) (?:it|them|this|that|the \w+|"
    r"your \w+|a new (?:one|\w+)|another (?:one|\w+)) (?:once more|again|anew)\b",
    r"\b(?:submit|create|file|place|open|send) (?:a new|another) (?:one|\w+)\b",
    r"\b(?:re-?submit|re-?send|re-?try|re-?order|re-?book)\b",
    r"\btry (?:it |this |that )?(?:again|once more)\b",
)
EN_TO_APPROVE = _any(
    r"\b(?:submitted|sent|passed|forwarded|handed|escalated|referred)(?: on)? (?:for|to) "
    r"(?:\w+ ){0,2}(?:approval|sign-off|approver)\b"
)
EN_DECLINED = _any(r"\b(?:failed|failure|unsuccessful|declined|rejected|refused|denied)\b")
EN_IN_PART = _any(
    r"\b(?:some|part|parts|partly|partially|several|a few|others?|the rest|one|two|three|\d+) ?"
    r"(?:of|items?|were|was|have|has|are|is|could|did|\w+ed)?\b"
)
EN_NOT_REPEAT = _any(r"\b(?:do not|don't|no need to|please avoid|not|never|without|need not)\b")
EN_NEGATION = _any(r"\b(?:not|never|no|nothing|none|neither|nor|without|cannot)\b|n't\b")
EN_NOTHING_NEW = _any(
    r"\b(?:no|nor|not) (?:\w+ )?(?:new|second|other|further|duplicate|additional|extra|another)\b|"
    r"\b(?:again|twice|a second time)\b"
)
EN_EVERYTHING = _any(r"\b(?:everything|all|both|each|every|fully|entire|entirely|whole)\b")
EN_NOT_A_CLAIM = _any(
    # somebody else's doing, the future, a wish, a condition
    r"\b(?:if|once|when|whenever|unless|until|as soon as|before|after|in case|provided)\b",
    r"\b(?:will|would|shall|should|must|can|could|may|might)\b(?! not)|'ll\b",
    r"\b(?:let me|going to|about to|want to|like to|need to|needs to|have to|has to|ready to|to be|"
    r"please|plan to)\b|(?<!able )\bto get\b|(?<!un)(?<!not )(?<!was )(?<!were )\bable to\b",
    r"\b(?:will|would|shall|should|must|may|might) not\b",
    r"\byou(?:'ve| have| had)? (?:\w+ )?(?:" + DONE_WORDS + r"|paid|cancelled|canceled)\b",
    r"\b(?:usually|typically|normally|generally|always)\b|\bare \w+ (?:within|in) \w+ days\b",
    r"\bas (?:you )?requested\b|\b(?:the|your|you) requested\b",
)
EN_REFERENCE_WORDS = (
    "ticket|reference|ref|receipt|number|no|id|case|confirmation|order|request|shipment|booking|"
    r"inspection|payment|reservation|tracking"
)

# -- Chinese -----------------------------------------------------------------------------------

_ZH_VERBS = (
    "提交|创建|新建|申请|下单|预约|预订|预定|预留|登记|发起|发送|发出|办理|生成|开具|安排|寄出|"
    "处理|完成|确认|锁定|报名|上报|通知|告知"
)
ZH_DONE = _any(
    rf"已(?:经)?(?:为您|帮您|替您|给您|由\S{{1,4}}?|自动|向\S{{1,8}}?|按您\S{{1,4}}?|成功|全部|正式)*(?:{_ZH_VERBS})",
    rf"(?:{_ZH_VERBS})(?:\w{{0,8}})?(?:成功|完毕|好了|完了|完成了?)",
    rf"成功(?:地)?(?:{_ZH_VERBS})",
    rf"(?:为您|帮您|替您|给您|我|我们)(?:已经?)?(?:{_ZH_VERBS})(?:了|好)",
    rf"(?:{_ZH_VERBS})了\w*(?:工单|申请|订单|通知|预约|请求|检测|邮件|退款)",
    r"(?:全部|都)(?:已经?)?(?:完成|提交|办理|处理)",
    r"(?:建|开|订|约|报|填|发|下)好了",
    r"搞定|办好了?|办妥|弄好了|大功告成|一切就绪",
)
ZH_ACCEPTED = _any(r"已(?:经)?(?:被)?受理|受理了|已接单")
ZH_OUTCOME = _any(
    r"已(?:经)?获(?:得)?(?:批准?|审批)(?!中)",
    r"已(?:经)?(?:为您|帮您|成功|全额|原路)*(?:退款|退回|退还|到账|批准|通过|发货|送达|签收|解决|修好|"
    r"修复|赔付|赔偿|补偿|换货|换新|打款|支付)",
    r"(?:退款|赔付|审核|审批|打款|支付|维修|换货)(?:已经?)?(?:成功|完成|通过|到账|好了|办好)",
    r"(?:钱|款项?|款)(?:已经?)?(?:退|打|转)(?:回|给|到|了)",
    r"退款了",
)
ZH_FUTURE_OUTCOME = _any(
    r"(?:将|会|马上|稍后|很快)(?:\w{0,10})?(?:退款|到账|退还|退回|赔付|打款|收到退款|批准)"
)
_ZH_NO = "未能|未曾|并未|尚未|还未|未|并没有|还没有|没有|没能|没|无法|不能|不曾"
ZH_NOT_DONE = _any(
    r"失败|不成功|未成功|没有?成功|没能成功|被拒|拒绝了?|未(?:被)?受理|不予受理|驳回|(?:未能?|没有?)通过",
    rf"(?:{_ZH_NO})(?:\w{{0,6}}?)(?:提交|创建|新建|申请上|申请到|下单|预约|预订|预留|登记|发起|发送|"
    r"发出|办理|生成|安排|寄出|完成|办成|生效)",
)
ZH_UNDONE = _any(
    r"已(?:经)?(?:为您|帮您|成功)*(?:撤销|取消|撤回|作废|冲正|回滚)",
    r"(?:撤销|取消|撤回)(?:了|成功|完成)",
)
ZH_OPEN = _any(
    rf"(?:暂|{_ZH_NO})(?:\w{{0,4}}?)(?:确认|确定|核实|查到|得到答复|答复|知道|知晓)",
    r"待确认|待核|待定|不确定|不清楚|不知道|是否|可能|也许|或许|大概|应该|似乎|好像|说不定",
    r"核查|核实|核对|查询|处理中|进行中|正在|等待|尝试|查一下|尚无",
)
ZH_STRONGLY_OPEN = _any(rf"(?:暂|{_ZH_NO})(?:\w{{0,4}}?)确认", r"待确认|不确定|不清楚是否|状态未知")
ZH_REPEAT = _any(
    r"重新(?:提交|申请|下单|发起|预约|办理|发送)",
    r"(?:再|重)(?:次|新)?(?:提交|申请|下单|发起|预约|办理|发送)(?:一次|一遍|一下)?",
    r"重试|再试(?:一次|一下|试)?|再来一次|重发|重提",
)
ZH_TO_APPROVE = _any(r"已(?:经)?(?:提交|送交|转交|上报|送)(?:给\w{1,6}?)?(?:审批|审核|批准)")
ZH_DECLINED = _any(r"失败|不成功|未成功|被拒|拒绝|未(?:被)?受理|不予受理|驳回")
ZH_IN_PART = _any(r"部分|有的|其中|个别|另(?:外)?[一二两三\d]")
ZH_NOT_REPEAT = _any(r"请勿|不要|无需|不必|不用|别|勿|不会|不能|避免|没有")
ZH_NOT_A_CLAIM = _any(
    r"如果|若|一旦|假如|要是|等到|之前|之后|以后|的话",
    r"将|(?<!机)会(?!话)|准备|马上|稍后|即将|打算|可以|(?<!申)请(?!求)|能否|可否|建议|希望|"
    r"(?<![重主必])要(?!求)",
    rf"您(?:已|已经|之前|刚才|刚刚)?(?:{_ZH_VERBS})的",
)
ZH_NEGATION = _any(rf"{_ZH_NO}|不|无")
ZH_NOTHING_NEW = _any(r"新建|重复|再次|另外|额外|第二")
ZH_EVERYTHING = _any(r"全部|都|所有|均|一切|全都")
ZH_REFERENCE_WORDS = (
    "工单号?|单号|编号|凭证号?|参考号|号码|票号|流水号|订单号?|预约号|受理号|运单号?"
)

# -- what an effect can be called ----------------------------------------------------------------

# What a clause may claim to have made. English; its Chinese words.
NOUNS: dict[str, str] = {
    "ticket": "工单",
    "inspection": "检测|质检|验货",
    "complaint": "投诉",
    "claim": "理赔",
    "return": "退货",
    "replacement": "换货|换新",
    "refund": "退款",
    "payment": "付款|支付|扣款",
    "payout": "打款|赔付",
    "compensation": "赔偿|补偿",
    "invoice": "发票",
    "appointment": "预约",
    "booking": "预订|订位",
    "reservation": "预留|锁定",
    "stock": "库存|备货",
    "shipment": "发货|运单|物流|寄送",
    "label": "面单",
    "pickup": "上门取件|取件",
    "notice": "通知",
    "notification": "通知",
    "email": "邮件",
    "mail": "邮件",
    "message": "短信|消息",
    "voucher": "优惠券|代金券",
    "coupon": "优惠券|代金券",
    "subscription": "订阅",
    "account": "账户|账号",
    "request": "申请|请求",
    "application": "申请",
}
# What a verb says was made, where no noun does.
DOINGS: dict[str, str] = {
    "notice": "notified",
    "notification": "notified",
    "email": "emailed",
    "mail": "emailed",
}
# They name nothing of their own: whatever was asked for is a request.
GENERIC = frozenset({"request", "application"})
# To have made one of them says that the money, or the thing, is on its way.
OUTCOMES = frozenset({"refund", "replacement", "payout", "compensation"})
FIRST_PERSON = _any(r"\b(?:i|we|i've|we've)\b", r"我|为您|帮您|替您|给您")

CHINESE = re.compile(r"[\u3400-\u9fff]")
TOKEN = re.compile(
    r"(?<![\w-])(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9][A-Za-z0-9_-]{1,63}(?![\w-])", re.ASCII
)
QUESTION = re.compile(r"[?]\s*$|[吗么呢]\s*[?]?\s*$")

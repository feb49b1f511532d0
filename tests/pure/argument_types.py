"""Types that tools take, as a user's module declares them: string annotations and all."""

from __future__ import annotations

import enum
import re
from dataclasses import InitVar, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NotRequired, TypedDict, TypeVar
from uuid import UUID

import pydantic
from pydantic_core import PydanticCustomError


def shown(value):
    """The id of a parameter: short, and the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:60] if not is_long(value) else "long"


def is_long(value):
    return isinstance(value, int) and value.bit_length() > 1_000


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.StrEnum):
    SMALL = "s"
    LARGE = "l"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Odd(enum.Enum):
    """Values that JSON does not have: written by name."""

    PAIR = (1, 2)
    TRUTH = True


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Empty(enum.Enum):
    pass


@dataclass(frozen=True, kw_only=True)
class Line:
    sku: str
    amount: Decimal
    count: int = 1
    day: date | None = None


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Cents:
    """Its constructor makes something else of the same field each time."""

    amount: int

    def __post_init__(self):
        self.amount *= 100


@dataclass
class Upper:
    """Its constructor may run again: what it makes stays as it is."""

    code: str
    length: int = field(init=False)

    def __post_init__(self):
        self.code = self.code.upper()
        self.length = len(self.code)


@dataclass
class Picky:
    code: str

    def __post_init__(self):
        if not self.code.startswith("A"):
            raise ValueError(f"{self.code} is wrong")


@dataclass
class Seeded:
    code: str
    seed: InitVar[int]


@dataclass(eq=False)
class One:
    id: str


@dataclass(eq=False)
class Other:
    id: str


class Address(TypedDict):
    city: str
    zip: NotRequired[str]


class Loose(TypedDict, total=False):
    at: datetime
    amount: Decimal


class Tree(TypedDict):
    left: NotRequired[Tree]
    label: str


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    it: T


class Payment(pydantic.BaseModel):
    amount: Decimal
    day: date
    lines: list[int] = []


class Refund(pydantic.BaseModel):
    amount: Decimal
    reason: str


class Aliased(pydantic.BaseModel):
    order_id: str = pydantic.Field(alias="orderId")


class Hiding(pydantic.BaseModel):
    card: pydantic.SecretStr


class Checked(pydantic.BaseModel):
    card: str

    @pydantic.field_validator("card")
    @classmethod
    def must_be_short(cls, value):
        if len(value) > 4:
            raise ValueError(f"{value} is wrong")
        return value


class Telling(pydantic.BaseModel):
    card: str

    @pydantic.field_validator("card")
    @classmethod
    def must_be_short(cls, value):
        raise PydanticCustomError("too_long", "Input should be other than {it}", {"it": value})


class Closed(pydantic.BaseModel, extra="forbid"):
    note: str = ""


class Branch(pydantic.BaseModel):
    name: str
    below: list[Branch] = []


class WithSet(pydantic.BaseModel):
    tags: set[str]


class Unwritable(pydantic.BaseModel):
    it: Any = None

    @pydantic.field_serializer("it")
    def say(self, value):
        raise RuntimeError(f"{value}")


class Unknown:
    """A class that nobody can make from JSON."""


class Attempt:
    """Stands for the type that is injected."""


OrderId = Annotated[str, "The order, as printed on the receipt", object()]


def everything(
    order_id: OrderId,
    amount: Decimal,
    rate: float,
    day: date,
    at: datetime,
    id: UUID,
    colour: Colour,
    size: Size,
    level: Level,
    odd: Odd,
    kind: Literal["a", 1, True] | None,
    lines: list[Line],
    pair: tuple[int, Decimal],
    many: tuple[date, ...],
    address: Address,
    loose: Loose,
    prices: dict[str, Decimal],
    payment: Payment,
    anything: Any,
    bare,
    number: int | float,  # noqa: PYI041
    attempt: Attempt,
    note: str | None = None,
    flag: bool = False,
) -> Line: ...

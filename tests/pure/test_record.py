"""Records are dataclasses like any other, finished when somebody first wants one."""

import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass, replace

import pytest

from ascertain.model.record import Record


def family():
    class Thing(Record):
        """What has no fields may have kinds."""

    class Priced(Thing):
        name: str
        price: int = 1

    return Thing, Priced


def test_a_record_is_a_frozen_dataclass():
    _, priced = family()
    one = priced(name="mouse")
    assert (one.name, one.price) == ("mouse", 1)
    assert one == priced(name="mouse") != replace(one, price=2)
    assert hash(one) == hash(priced(name="mouse"))
    assert asdict(one) == {"name": "mouse", "price": 1}
    assert repr(one).endswith("Priced(name='mouse', price=1)")
    with pytest.raises(FrozenInstanceError):
        one.name = "cat"


def test_it_says_its_fields_before_there_is_any():
    thing, priced = family()
    assert is_dataclass(priced)
    assert [item.name for item in fields(priced)] == ["name", "price"]
    assert not is_dataclass(thing)


def test_one_without_fields_may_be_made():
    thing, priced = family()
    assert isinstance(thing(), thing)
    with pytest.raises(TypeError, match="Thing has no fields"):
        thing(name="mouse")
    assert priced(name="mouse").price == 1


def test_each_kind_of_one_base_has_its_own_fields():
    thing, priced = family()

    class Weighed(thing):
        grams: int

    assert priced(name="mouse").price == 1
    assert [item.name for item in fields(Weighed)] == ["grams"]
    assert Weighed(grams=5).grams == 5


def test_what_has_fields_is_not_extended():
    _, priced = family()
    with pytest.raises(TypeError, match="Dear: Priced has fields, and is not extended"):
        type("Dear", (priced,), {})


def test_wrong_arguments_are_refused_the_first_time_as_ever_after():
    _, priced = family()
    for _ in range(2):
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            priced(name="mouse", colour="red")
        with pytest.raises(TypeError, match="positional"):
            priced("mouse")


def test_by_position_where_the_class_says_so():
    class Pair(Record, kw_only=False):
        left: int
        right: int = 0

    assert Pair(1, 2) == Pair(left=1, right=2)
    assert Pair.__match_args__ == ("left", "right")


def test_many_threads_may_be_the_first():
    for _ in range(50):
        _, priced = family()
        start, made = threading.Barrier(8), []

        def make(kind=priced, start=start, made=made):
            start.wait()
            made.append(kind(name="mouse", price=3))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [priced(name="mouse", price=3)] * 8


def test_importing_the_library_finishes_only_what_it_makes():
    code = """
import ascertain
from ascertain.model.chain import Joins
from ascertain.model.contract import Contract
from ascertain.model.words import Undone
for kind in (Joins, Contract, Undone):
    assert "__dataclass_fields__" not in vars(kind), kind
"""
    subprocess.run([sys.executable, "-c", code], check=True)

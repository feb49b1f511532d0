"""Which call is which intent, and the key that it keeps."""

import hashlib
import hmac
import uuid
from dataclasses import replace

import pytest

from ascertain.errors import WeakKey
from ascertain.model.contract import Contract, KeyFormat, OncePer
from ascertain.model.outcome import Kind
from ascertain.model.tables import State
from ascertain.rules.identity import (
    Scope,
    check_key_format,
    derive_key,
    derive_step_key,
    intent_digest,
    intent_mac,
    match,
    slot_of,
)
from ascertain.rules.mac import prepared_hmac
from tests.laws.records import record

CONTRACT = Contract(tool="create_ticket", noun="ticket", identity=("order_id",))
SCOPE = Scope(tenant="t", principal="u7", session="chat-42", turn="1", opening="o", chain="c")
MAC = intent_mac(b"a secret of sixteen bytes or more")


def digest(contract=CONTRACT, scope=SCOPE, identity='{"order_id":"A1"}', ordinal=""):
    return intent_digest(contract, scope, identity, ordinal)


def key(contract=CONTRACT, intent="i", slot="1", replaces_key=None):
    return derive_key(MAC, contract, intent=intent, slot=slot, replaces_key=replaces_key)


# ------------------------------------------------------------------------------------------ intents


def test_req_F09_the_same_wish_is_the_same_intent():
    assert digest() == digest()


@pytest.mark.parametrize(
    "other",
    [
        {"identity": '{"order_id":"A2"}'},
        {"ordinal": "2"},
        {"contract": replace(CONTRACT, tool="send_notice")},
        {"scope": SCOPE._replace(tenant="t2")},
        {"scope": SCOPE._replace(principal="u8")},
        {"scope": SCOPE._replace(session="chat-43")},
    ],
)
def test_another_order_person_tool_tenant_or_ordinal_is_another_intent(other):
    assert digest(**other) != digest()


@pytest.mark.parametrize("changed", ["turn", "opening", "chain"])
def test_the_turn_the_opening_and_the_chain_are_no_part_of_the_name(changed):
    assert digest(scope=SCOPE._replace(**{changed: "other"})) == digest()


def test_parts_that_run_into_each_other_are_kept_apart():
    one = SCOPE._replace(principal="a", session="bc")
    other = SCOPE._replace(principal="ab", session="c")
    assert digest(scope=one) != digest(scope=other)
    assert digest(identity="a", ordinal="bc") != digest(identity="ab", ordinal="c")


@pytest.mark.parametrize(
    "once_per, session_matters, principal_matters",
    [
        (OncePer.SESSION, True, True),
        (OncePer.PRINCIPAL, False, True),
        (OncePer.TENANT, False, False),
    ],
)
def test_an_intent_is_one_within_its_scope(once_per, session_matters, principal_matters):
    contract = replace(CONTRACT, once_per=once_per)
    here = digest(contract)
    elsewhere = digest(contract, SCOPE._replace(session="chat-43"))
    somebody_else = digest(contract, SCOPE._replace(principal="u8"))
    assert (here != elsewhere) is session_matters
    assert (here != somebody_else) is principal_matters
    assert here != digest(contract, SCOPE._replace(tenant="t2")), "never beyond the tenant"


def test_only_what_is_once_per_session_has_the_turn_as_its_slot():
    alone = SCOPE._replace(chain="")
    slots = {one: slot_of(replace(CONTRACT, once_per=one), alone) for one in OncePer}
    assert slots == {OncePer.SESSION: "1", OncePer.PRINCIPAL: "", OncePer.TENANT: ""}


def test_req_S05_inside_a_chain_the_chain_is_the_slot_so_that_another_turn_finds_the_action():
    slots = {slot_of(CONTRACT, SCOPE._replace(turn=turn)) for turn in ("1", "2", "")}
    assert slots == {"chain:c"}
    assert slot_of(replace(CONTRACT, once_per=OncePer.TENANT), SCOPE) == ""


def test_a_refusal_binds_in_its_chain_whatever_the_turn_and_in_no_other():
    wanted = record(id="new", chain="c")
    found = rejected(chain="c", turn="0")
    assert match(wanted, [found]) == (found, "bound")
    assert match(wanted, [rejected(chain="d", turn="0")])[1] == "replace"


# --------------------------------------------------------------------------------------------- keys


def test_req_F08_a_ledger_that_was_restored_makes_the_same_keys():
    assert key() == derive_key(
        intent_mac(b"a secret of sixteen bytes or more"), CONTRACT, intent="i", slot="1",
        replaces_key=None,
    )  # fmt: skip


@pytest.mark.parametrize("other", [{"intent": "j"}, {"slot": "2"}, {"replaces_key": "K0"}])
def test_another_intent_turn_or_replaced_action_has_another_key(other):
    assert key(**other) != key()


def test_another_secret_makes_other_keys():
    mac = intent_mac(b"another secret of sixteen bytes")
    assert derive_key(mac, CONTRACT, intent="i", slot="1", replaces_key=None) != key()


def test_a_key_says_nothing_of_what_it_was_made_from():
    assert "A1" not in key(intent=digest())
    assert "chat-42" not in key(intent=digest())


def test_a_step_has_a_key_of_its_own_from_the_actions_key():
    first = derive_step_key(MAC, CONTRACT, "K", "charge")
    assert first == derive_step_key(MAC, CONTRACT, "K", "charge")
    others = {
        derive_step_key(MAC, CONTRACT, "K", "refund"),
        derive_step_key(MAC, CONTRACT, "L", "charge"),
        key(),
    }
    assert first not in others
    assert len(others) == 3


@pytest.mark.parametrize(
    "form, characters, length",
    [
        (KeyFormat(), "0123456789abcdef", 32),
        (KeyFormat(length=64), "0123456789abcdef", 64),
        (KeyFormat(style="base32", length=26), "abcdefghijklmnopqrstuvwxyz234567", 26),
    ],
)
def test_a_key_has_the_providers_format(form, characters, length):
    made = key(replace(CONTRACT, key=form))
    assert len(made) == length
    assert set(made) <= set(characters)


def test_a_key_may_have_a_prefix_beyond_its_length():
    made = key(replace(CONTRACT, key=KeyFormat(prefix="ord_", length=32)))
    assert made == f"ord_{key()}"


def test_a_uuid_is_one_that_strict_parsers_take():
    contract = replace(CONTRACT, key=KeyFormat(style="uuid"))
    made = [key(contract, intent=f"i{n}") for n in range(40)]
    for one in made:
        parsed = uuid.UUID(one)
        assert (str(parsed), parsed.version, parsed.variant) == (one, 8, uuid.RFC_4122)
    assert len({one[19] for one in made}) == 4, "the variant leaves two bits of the key"
    assert len(set(made)) == 40


@pytest.mark.parametrize(
    "form",
    [
        KeyFormat(),
        KeyFormat(length=24),
        KeyFormat(style="base32", length=20),
        KeyFormat(style="uuid", length=1),
    ],
)
def test_a_format_that_keeps_two_intents_apart_is_taken(form):
    check_key_format(form)


@pytest.mark.parametrize(
    "form, says",
    [
        (KeyFormat(length=23), "23 characters carries 92 bits"),
        (KeyFormat(style="base32", length=19), "carries 95 bits"),
        (KeyFormat(style="roman"), "'roman' is not known"),
    ],
)
def test_a_format_in_which_two_intents_could_meet_is_refused(form, says):
    with pytest.raises(WeakKey, match=says):
        check_key_format(form)


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("length", [1, 64, 65, 128, 129, 200])
def test_the_keyed_hash_is_hmac(algorithm, length):
    secret = bytes(range(length % 256)) + b"k" * (length - length % 256)
    mac = prepared_hmac(secret, algorithm)
    for message in (b"", b"message", b"m" * 1000):
        assert mac(message) == hmac.digest(secret, message, algorithm)
    assert mac(b"again") == mac(b"again"), "one message leaves nothing behind for the next"


def test_keys_are_made_with_sha512_and_the_chain_with_sha256():
    assert len(MAC(b"")) == hashlib.sha512().digest_size
    assert len(prepared_hmac(b"k")(b"")) == hashlib.sha256().digest_size


# ----------------------------------------------------------------------------------------- matching

WANTED = record(id="new")


def rejected(**changes):
    """A final refusal in the same turn, of the same arguments."""
    refusal = {"id": "old", "state": State.REJECTED, "final": 1, "kind": Kind.BUSINESS}
    return record(**{**refusal, **changes})


def test_nothing_stored_is_a_new_intent():
    assert match(WANTED, []) == (None, "new")


@pytest.mark.parametrize(
    "state", [state for state in State if state not in (State.REJECTED, State.COMPENSATED)]
)
def test_a_living_action_of_the_same_turn_is_found_whatever_its_state(state):
    found = record(id="old", state=state)
    assert match(WANTED, [found]) == (found, "intent")


@pytest.mark.parametrize(
    "state, via",
    [
        (State.PREPARED, "intent"),
        (State.SENT, "intent"),
        (State.UNKNOWN, "intent"),
        (State.CONFIRMED, "new"),
        (State.COMPENSATED, "new"),
    ],
)
def test_an_action_of_an_earlier_turn_is_found_while_it_is_open(state, via):
    assert match(WANTED, [record(id="old", state=state, slot="0", turn="0")])[1] == via


def test_a_temporary_refusal_is_open_and_found():
    found = rejected(final=0, kind=Kind.THROTTLED, slot="0")
    assert match(WANTED, [found]) == (found, "intent")


@pytest.mark.parametrize("kind", [Kind.BUSINESS, Kind.INVALID, Kind.ALREADY_EXISTS, Kind.KEY_REUSE])
def test_req_F21_a_final_refusal_answers_the_same_arguments_in_that_turn(kind):
    found = rejected(kind=kind)
    assert match(WANTED, [found]) == (found, "bound")


@pytest.mark.parametrize(
    "changes", [{"exact": "other"}, {"wording": "other"}, {"turn": "0"}, {"session": "before"}]
)
def test_req_F21_any_other_call_after_it_is_new_and_names_the_one_it_replaces(changes):
    found = rejected(**changes)
    assert match(WANTED, [found]) == (found, "replace")
    assert match(WANTED._replace(replaces="old"), [found]) == (None, "new")


def test_req_F21_a_refusal_for_want_of_permission_binds_until_the_session_is_opened_anew():
    found = rejected(kind=Kind.AUTH, turn="0", session="before")
    assert match(WANTED, [found]) == (found, "bound")
    assert match(WANTED._replace(opening="later"), [found]) == (found, "replace")


@pytest.mark.parametrize("kind", [Kind.WITHDRAWN, Kind.TOOL_ERROR, Kind.ABSENT])
def test_req_F21_what_was_never_done_binds_nobody(kind):
    found = rejected(kind=kind)
    assert match(WANTED, [found]) == (found, "replace")


def test_of_several_refusals_the_latest_is_the_one_to_replace():
    later, earlier = rejected(id="later", exact="y"), rejected(id="earlier", exact="z")
    assert match(WANTED, [later, earlier]) == (later, "replace")
    assert match(WANTED._replace(replaces="later"), [later, earlier]) == (None, "new")
    assert match(WANTED._replace(replaces="earlier"), [later, earlier]) == (later, "replace")


def test_a_living_action_behind_a_refusal_is_found():
    living = record(id="living", state=State.CONFIRMED)
    assert match(WANTED, [rejected(exact="y"), living]) == (living, "intent")


def test_a_refusal_that_binds_behind_one_that_does_not_is_found():
    binding = rejected(id="binding")
    assert match(WANTED, [rejected(exact="y"), binding]) == (binding, "bound")

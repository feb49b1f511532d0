"""What a session, and a store of sessions, do when everything comes one after the other."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One key of a session: its value, and the actions that have begun since it was written.

    An action that is not among them is late: something newer was written after it had begun. Where
    nothing was written yet, in this life of the session, none is late, and ``begun`` is None.
    """

    value: object = None
    begun: frozenset[str] | None = None


class Session:
    """What the clients of a session may see, whatever keeps and serves it.

    ``begin [key, action]`` stores an action that will bring the key; ``commit [key, action,
    value]`` brings it, seen ``taken`` or ``late`` (None: nobody looked); ``say [key, value]`` is
    the application's word; ``read`` sees all keys at once; ``use [key, value]`` was allowed on that
    value; ``renew``, seen whether there was a session, begins anew with nothing remembered. A state
    is one :class:`Key` for each key.
    """

    def __init__(self, keys):
        self.keys = list(keys)
        self.initial = tuple(Key() for _ in self.keys)

    def step(self, state, op):
        match op.kind:
            case "read":
                seen = op.seen
                now = {key: one.value for key, one in zip(self.keys, state, strict=True)}
                return (state,) if op.pending or seen == now else ()
            case "use":
                here = state[self.keys.index(op.given[0])]
                return (state,) if op.pending or here.value == op.given[1] else ()
            case "renew":
                nothing = self.initial
                return (state, nothing) if op.pending else (nothing if op.seen else state,)
        place = self.keys.index(op.given[0])
        return tuple(
            (*state[:place], after, *state[place + 1 :]) for after in _moved(state[place], op)
        )


def _moved(key, op):
    match op.kind, op.given:
        case "begin", _ if op.pending:
            return (key,)  # nobody is left who could commit it
        case "begin", [_, action]:
            return (key if key.begun is None else key._replace(begun=key.begun | {action}),)
        case "say", [_, value]:
            return (Key(value, frozenset()),)
        case "commit", [_, action, value]:
            taken = key.begun is None or action in key.begun
            if not op.pending and op.seen not in (None, "taken" if taken else "late"):
                return ()
            return (Key(value, frozenset()) if taken else key,)
    raise AssertionError(f"no such operation: {op}")


class Kept:
    """What a store of sessions keeps of one session.

    ``project [epoch, version, content]``, seen whether it was written; ``serve [epoch, version]``,
    seen ``[version, content]`` or None; ``lose``: somebody flushed, evicted or killed it (or
    ``lose perhaps``). A state is ``(epoch, version, content)``, or None.
    """

    initial = None

    def step(self, state, op):
        match op.kind:
            case "lose":
                return (None,)
            case "lose perhaps":
                return (state, None)
            case "project":
                epoch, version, content = op.given
                written = state is None or (epoch, version) > state[:2]
                if not op.pending and op.seen != written:
                    return ()
                return ((epoch, version, content) if written else state,)
            case "serve":
                epoch, version = op.given
                served = state is not None and state[0] == epoch and state[1] >= version
                seen = list(state[1:]) if served else None
                return (state,) if op.pending or op.seen == seen else ()
        raise AssertionError(f"no such operation: {op}")

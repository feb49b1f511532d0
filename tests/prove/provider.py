"""The provider as the search knows it: what it promises, and every way in which it may keep that.

A provider's memory is a tuple `(effects, keys, jobs, fence)`:

* `effects`: `(key, attempt, left)` in order; the n-th has the reference `Tn`. While `left` is above
  0 a look-up may still overlook it: the time since the *sending* (for accepted work: since its end)
  is shorter than the settling time.
* `keys`: `(key, word, effect, left)`, what is remembered of a key, and for how long (-1: for ever).
* `jobs`: `(key, attempt)`, accepted and still worked on by a provider that knows no keys.
* `fence`: attempts up to this number can no longer take effect; `FENCED`: nothing can.

Requests on their way are `(attempt, key, left, copy)`; a request arrives before `left` runs out, or
never: that is the promise behind "absence is final after". `copy` is `ONE`, `COPY` (delivered a
second time by the network) or `ABANDONED` (the client has sent it anew by itself).

What each function returns is a list of `(memory, word, fault)`: what it may come to, what is
answered, and which kind of fault that uses up (None: nothing went wrong).
"""

from dataclasses import dataclass

FENCED = 99
# Attempts that are sent after a fail-over are numbered from here on the wire: the ledger gives their
# numbers a second time, and a fence knows these only.
HISTORY = 100
ONE, COPY, ABANDONED = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What a provider keeps.

    `dedup`: one key takes effect once, and is answered alike. `covers`: a refusal is kept under the
    key and holds for every request with it. `unique`: a second record with the same key is refused
    as "already exists". `fence`: None, "key" (a fenced key is dead for ever) or "attempt" (a later
    attempt is not). `life`: how long a key is remembered, from its first arrival. `transit`: how
    long after its sending a request can still arrive; below the settling time. `mute`: look-ups are
    never answered.
    """

    dedup: bool = False
    covers: bool = False
    unique: bool = False
    fence: str | None = None
    life: int = -1
    transit: int = 1
    lookup: bool = False
    mute: bool = False

    def deliver(self, memory, request):
        """A request arrives."""
        effects, keys, jobs, fence = memory
        attempt, key, left, copy = request
        if fence >= attempt % HISTORY:
            # a conflict that no contract explains, or a transaction that says why it rolled back
            return [(memory, "unknown" if self.fence == "key" else "fenced", None)]
        known = _find(keys, key)
        if known is not None:
            word = {"done": f"ok T{known[2]}", "refused": "refused", "work": "in_progress"}
            return [(memory, word[known[1]], None)]
        if self.unique and any(effect[0] == key for effect in effects):
            return [(memory, "exists", None)]
        done = self._effect(memory, key, attempt, left)
        ends = [(done, f"ok T{len(done[0])}", None)]
        if copy != COPY:  # what the network doubles is judged like the original, which was accepted
            kept = self._keep(memory, key, "refused", 0) if self.covers else memory
            ends += [(kept, "refused", "refuse"), (memory, "throttled", "throttle")]
        if copy == ONE:
            if self.dedup:
                taken = self._keep(memory, key, "work", 0)
            else:
                taken = (effects, keys, (*jobs, (key, attempt)), fence)
            ends.append((taken, "accepted", "work"))
        return ends

    def finish(self, memory):
        """Accepted work is done, or comes to nothing."""
        effects, keys, jobs, fence = memory
        ends = []
        for entry in keys:
            if entry[1] == "work":
                rest = (effects, tuple(one for one in keys if one != entry), jobs, fence)
                ends.append((self._effect(rest, entry[0], 0, self.transit), "done", None))
                refused = self._keep(rest, entry[0], "refused", 0) if self.covers else rest
                ends.append((refused, "refused", "refuse"))
        for job in sorted(set(jobs)):
            left = list(jobs)
            left.remove(job)
            rest = (effects, keys, tuple(left), fence)
            ends.append((self._effect(rest, *job, self.transit), "done", None))
            ends.append((rest, "refused", "refuse"))
        return ends

    def look_up(self, memory, key, attempt):
        """A look-up is answered; `attempt` is the last one that the asker knew of."""
        if self.mute:
            return [(memory, "silent", None)]
        effects, keys, jobs, fence = memory
        mine = [(at, effect) for at, effect in enumerate(effects, 1) if effect[0] == key]
        ends = [(memory, "silent", "silent")]
        if self.fence is None and any(effect[2] > 0 for _, effect in mine):
            seen = [at for at, effect in mine if effect[2] <= 0]
            ends.append((memory, f"found T{seen[0]} x{len(seen)}" if seen else "absent", "lag"))
        known = _find(keys, key)
        if mine:
            ends.append((memory, f"found T{mine[0][0]} x{len(mine)}", None))
        elif known is not None and known[1] == "refused":
            ends.append((memory, "refused", None))
        elif known is not None or any(job[0] == key for job in jobs):
            ends.append((memory, "working", None))
        else:
            closed = {None: fence, "key": FENCED, "attempt": max(fence, attempt)}[self.fence]
            ends.append(((effects, keys, jobs, closed), "absent", None))
        return ends

    def later(self, memory):
        """One unit of time passes."""
        effects, keys, jobs, fence = memory
        if effects:
            effects = tuple((key, attempt, max(left - 1, 0)) for key, attempt, left in effects)
        if self.life > 0:
            keys = tuple((*entry[:3], entry[3] - 1) for entry in keys if entry[3] != 1)
        return effects, keys, jobs, fence

    def _effect(self, memory, key, attempt, left):
        effects, keys, jobs, fence = memory
        hidden = max(left, 0) + 1 if self.lookup and self.fence is None else 0
        done = ((*effects, (key, attempt, hidden)), keys, jobs, fence)
        return self._keep(done, key, "done", len(done[0])) if self.dedup else done

    def _keep(self, memory, key, word, effect):
        effects, keys, jobs, fence = memory
        old = _find(keys, key)
        left = self.life if old is None else old[3]
        rest = [entry for entry in keys if entry[0] != key]
        return effects, tuple(sorted([*rest, (key, word, effect, left)])), jobs, fence


def _find(keys, key):
    return next((entry for entry in keys if entry[0] == key), None)


NOTHING = ((), (), (), 0)

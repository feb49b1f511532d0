"""Doors for agent frameworks: one contract, and one small file for each framework.

Every door does the same. It takes a tool call as the framework hands it over, and gives back a
fact::

    (scope, turn, call id, tool, arguments) -> fact

* **scope**: whose wish it is, an :meth:`app.session(...) <ascertain.Ascertain.session>`; or a
  function that makes one of what the framework has (its thread, its context). It comes from what
  the program has authenticated, never from a model. Without one, and outside any
  ``with app.session(...)``, a door raises :class:`~ascertain.errors.NoScope` before anything is
  sent.
* **turn**: the message that is being answered. Within it, the same intent is one action, whatever
  ids the framework mints: a model that plans anew gets what is there already.
* **call id**: the framework's id of the call, so that a resumed or replayed run finds its action.
  Ids that repeat are safe: the message's id, the turn, the tool and the arguments count too.
* **tool, arguments**: as the model wrote them. Half-parsed or cut-off calls are never made.
* **fact**: what is known, what may come next, and nothing else (:mod:`~.told`).

Two kinds of tools go through a door. **Own** tools, declared with ``@app.tool`` and ``@app.read``,
are shown to the framework as they are. **Guests** are tools of the framework that stay untouched:
its handler is the body of the call, and what the tool promises is said for it (:meth:`Door.declare
<ascertain.adapters.door.Door.declare>`, or a file). What nobody has declared is a blind write: sent
at most once for one intent, never repeated, and with a lost answer a person's case. Only tools
declared with ``access="pass"`` are let through untouched.

What a worker may do for a guest is part of its contract (``caller_sends``). It asks the look-up. It
never sends, for the body is the handler of a run that may be over; unless ``alone=`` gives a
function that does the same from the arguments alone. So after a final "absent" the action ends as
not done, and may be called again; where nobody can be asked, it waits for a person.

Models get one tool more, ``ascertain``: its argument is one of the entries of ``next_allowed``, and
is checked again when it is taken.

An intended second is named by the program: ``Door(ordinal=...)``. A model cannot.

The frameworks are imported by their own file only, when it is.
"""

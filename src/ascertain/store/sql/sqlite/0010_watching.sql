-- What people watch is read from indexes alone: what waits by tool, who holds leases, and what has
-- been unknown for longest. A write keeps as many indexes as before; what is lost, one more. (What
-- an index says by its condition, SQLite reads from its columns nevertheless.)
--
-- oldest writer: 8

DROP INDEX action_due;
CREATE INDEX action_due ON action (tenant, tool, due_at, id, lease_until, state)
    WHERE due_at IS NOT NULL;

DROP INDEX action_waiting;
CREATE INDEX action_waiting ON action (tool, mode, state, final, due_at)
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated');

DROP INDEX action_review;
CREATE INDEX action_review ON action (tool, mode, review, disputed)
    WHERE review IS NOT NULL OR disputed <> 0;

CREATE INDEX action_unknown ON action (first_sent_at, id)
    WHERE state = 'unknown' AND mode <> 'observe';

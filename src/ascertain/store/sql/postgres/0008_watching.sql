-- What people watch is read from indexes alone: what waits by tool, who holds leases, and what has
-- been unknown for longest. A write keeps as many indexes as before; what is lost, one more.
--
-- oldest writer: 4

-- step alone
CREATE INDEX CONCURRENTLY IF NOT EXISTS action_due_watched
    ON action (tenant, tool, due_at, id, lease_until, state) WHERE due_at IS NOT NULL;
-- step
DROP INDEX action_due;
ALTER INDEX action_due_watched RENAME TO action_due;

-- step alone
CREATE INDEX CONCURRENTLY IF NOT EXISTS action_waiting_watched ON action (tool, mode, state)
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated');
-- step
DROP INDEX action_waiting;
ALTER INDEX action_waiting_watched RENAME TO action_waiting;

-- step alone
CREATE INDEX CONCURRENTLY IF NOT EXISTS action_review_watched
    ON action (tool, mode, review, disputed) WHERE review IS NOT NULL OR disputed <> 0;
-- step
DROP INDEX action_review;
ALTER INDEX action_review_watched RENAME TO action_review;

-- step alone
CREATE INDEX CONCURRENTLY IF NOT EXISTS action_unknown ON action (first_sent_at, id)
    WHERE state = 'unknown' AND mode <> 'observe';

-- Many workers: what is due is found by tenant and tool, so that none of them holds up the others;
-- providers' rates and counts of the last minutes are shared by all who use the ledger.

DROP INDEX action_due;
CREATE INDEX action_due ON action (tenant, tool, due_at) WHERE due_at IS NOT NULL;

-- How often a provider may be spoken to, and what of it is taken just now. `usage` is JSON, read and
-- written in one piece by the rules of turns.
CREATE TABLE rate (
    name     TEXT PRIMARY KEY,
    most     INTEGER NOT NULL,
    window_s REAL NOT NULL,
    usage    TEXT NOT NULL
) WITHOUT ROWID;

-- Signs of life; anew, for they are of the last day only. ended_at: when a worker said that it ends.
DROP TABLE IF EXISTS heartbeat;
CREATE TABLE heartbeat (
    owner    TEXT PRIMARY KEY,
    at       REAL NOT NULL,
    ended_at REAL
) WITHOUT ROWID;

-- What happened in each second, by tool: for people who watch, and no evidence of anything.
CREATE TABLE tally (
    at   INTEGER NOT NULL,
    tool TEXT NOT NULL,
    what TEXT NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (at, tool, what)
) WITHOUT ROWID;

-- Many workers: what is due is found by tenant and tool, so that none of them holds up the others;
-- providers' rates and counts of the last minutes are shared by all who use the ledger.

DROP INDEX action_due;
CREATE INDEX action_due ON action (tenant, tool, due_at, id) WHERE due_at IS NOT NULL;

-- How often a provider may be spoken to, and what of it is taken just now. `usage` is JSON, read and
-- written in one piece by the rules of turns.
CREATE TABLE rate (
    name     text COLLATE "C" PRIMARY KEY,
    most     bigint NOT NULL,
    window_s double precision NOT NULL,
    usage    text NOT NULL
);

-- Signs of life; anew, for they are of the last day only. ended_at: when a worker said that it ends.
DROP TABLE heartbeat;
CREATE TABLE heartbeat (
    owner    text COLLATE "C" PRIMARY KEY,
    at       double precision NOT NULL,
    ended_at double precision
);

-- What happened in each second, by tool: for people who watch, and no evidence of anything.
CREATE TABLE tally (
    at   bigint NOT NULL,
    tool text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (at, tool, what)
);

-- Chains: the actions of one wish. What a chain has come to is derived from its actions; stored are
-- its steps and the direction that it goes. The columns are the fields of ChainRecord and Member.

CREATE TABLE chain (
    id         TEXT PRIMARY KEY,
    tenant     TEXT NOT NULL,
    principal  TEXT NOT NULL,
    session    TEXT NOT NULL,
    name       TEXT NOT NULL,
    ordinal    TEXT NOT NULL,
    wish       TEXT NOT NULL,
    wish_zh    TEXT NOT NULL,
    plan       TEXT NOT NULL,
    created_at REAL NOT NULL,
    direction  TEXT NOT NULL CHECK (direction IN ('forward', 'backward')),
    reason     TEXT NOT NULL,
    turned_at  REAL,
    stopped_at REAL,
    due_at     REAL,
    owner      TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX chain_session ON chain (session, tenant);
CREATE INDEX chain_due ON chain (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE member (
    chain     TEXT NOT NULL,
    action_id TEXT NOT NULL,
    step      TEXT NOT NULL,
    position  INTEGER NOT NULL,
    weight    TEXT NOT NULL CHECK (weight IN ('essential', 'best_effort')),
    after     TEXT NOT NULL,  -- JSON: a list of steps
    undoes    TEXT NOT NULL,  -- '' for a step
    kept      INTEGER NOT NULL,
    PRIMARY KEY (chain, action_id)
) WITHOUT ROWID;

CREATE TRIGGER chain_never_turns_again BEFORE UPDATE OF direction ON chain
WHEN OLD.direction = 'backward' AND NEW.direction <> 'backward'
BEGIN
    SELECT RAISE(ABORT, 'ascertain: a chain that goes back never goes forward again');
END;

CREATE TRIGGER chain_stays_stopped BEFORE UPDATE OF stopped_at ON chain
WHEN OLD.stopped_at IS NOT NULL AND NEW.stopped_at IS NULL
BEGIN
    SELECT RAISE(ABORT, 'ascertain: a chain that was stopped stays stopped');
END;

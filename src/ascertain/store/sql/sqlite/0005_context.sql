-- What conversations remember. Every value says which action wrote it, and at which version of its
-- session; older ones are kept for a while, so that it can be told what was shown, and what came late.

CREATE TABLE session (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    principal  TEXT NOT NULL,
    version    INTEGER NOT NULL,
    epoch      TEXT NOT NULL,
    opened_at  REAL NOT NULL,
    seen_at    REAL NOT NULL,
    expires_at REAL NOT NULL,
    cleared_at REAL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- Those whose values are still there.
CREATE INDEX session_expires ON session (expires_at) WHERE cleared_at IS NULL;

CREATE TABLE context (
    tenant     TEXT NOT NULL,
    session    TEXT NOT NULL,
    "key"      TEXT NOT NULL,
    version    INTEGER NOT NULL,
    value      TEXT,              -- JSON; NULL: there is none, and why says why
    why        TEXT NOT NULL,
    writer     TEXT NOT NULL,     -- '': the application
    chain      TEXT NOT NULL,
    superseded INTEGER NOT NULL,
    began_at   REAL NOT NULL,
    at         REAL NOT NULL,
    bytes      INTEGER NOT NULL,  -- of the value
    PRIMARY KEY (tenant, session, "key", version)
) WITHOUT ROWID;

-- Which keys an action will provide, from its birth until its outcome is written.
CREATE TABLE pledge (
    tenant    TEXT NOT NULL,
    session   TEXT NOT NULL,
    "key"     TEXT NOT NULL,
    action_id TEXT NOT NULL,
    base      INTEGER NOT NULL,
    PRIMARY KEY (tenant, session, "key", action_id)
) WITHOUT ROWID;

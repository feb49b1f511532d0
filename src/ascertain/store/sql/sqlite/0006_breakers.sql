-- Circuit breakers: one row for each that has ever opened, shared by all processes.
--
-- Not evidence of anything that was done, so no chain covers it. `n` counts the turns; a writer must
-- find it unchanged.

CREATE TABLE breaker (
    name        TEXT PRIMARY KEY,
    circuit     TEXT NOT NULL CHECK (circuit IN ('closed', 'open', 'probing')),
    why         TEXT NOT NULL,
    "by"        TEXT NOT NULL,
    changed_at  REAL NOT NULL,
    opened_at   REAL,
    cool_at     REAL,
    try_at      REAL,
    prober      TEXT,
    probe_until REAL,
    n           INTEGER NOT NULL
) WITHOUT ROWID;

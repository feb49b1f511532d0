-- The ledger. Numbered, up only: this file is never edited once it is released.
--
-- Ids grow with time, so that new rows land next to each other. The columns of `action` are the
-- fields of ActionRecord, in order. Rows of `rule` are written by the code that migrates, from the
-- transition table, and compared with it whenever the file is opened.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE rule (
    start        TEXT NOT NULL,  -- '' for the birth of an action
    event        TEXT NOT NULL,
    "end"        TEXT NOT NULL,
    unless_final INTEGER NOT NULL,
    PRIMARY KEY (start, event, "end")
) WITHOUT ROWID;

CREATE TABLE contract (
    digest TEXT PRIMARY KEY,
    json   TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE action (
    id               TEXT PRIMARY KEY,
    tenant           TEXT NOT NULL,
    tool             TEXT NOT NULL,
    principal        TEXT NOT NULL,
    session          TEXT NOT NULL,
    opening          TEXT NOT NULL,
    turn             TEXT NOT NULL,
    slot             TEXT NOT NULL,
    chain            TEXT NOT NULL,
    call_id          TEXT,
    parent           TEXT,
    replaces         TEXT,
    intent           TEXT NOT NULL,
    ordinal          TEXT NOT NULL,
    exact            TEXT NOT NULL,
    wording          TEXT NOT NULL,
    "key"            TEXT NOT NULL,
    contract         TEXT NOT NULL,
    mode             TEXT NOT NULL,
    created_at       REAL NOT NULL,
    send_by_at       REAL NOT NULL,
    state            TEXT NOT NULL,
    final            INTEGER NOT NULL DEFAULT 0,
    kind             TEXT,
    reason           TEXT NOT NULL DEFAULT '',
    code             TEXT,
    attempt          INTEGER NOT NULL DEFAULT 0,
    sends            INTEGER NOT NULL DEFAULT 0,
    doubt            INTEGER NOT NULL DEFAULT 0,
    provider_ref     TEXT,
    related_ref      TEXT,
    handle           TEXT,
    evidence         TEXT NOT NULL DEFAULT 'not_asked',
    asked            INTEGER NOT NULL DEFAULT 0,
    unanswered       INTEGER NOT NULL DEFAULT 0,
    refused          INTEGER NOT NULL DEFAULT 0,
    disputed         INTEGER NOT NULL DEFAULT 0,
    maybe_twice      INTEGER NOT NULL DEFAULT 0,
    review           TEXT,
    review_at        REAL,
    updated_at       REAL NOT NULL,
    first_sent_at    REAL,
    last_sent_at     REAL,
    last_possible_at REAL,
    asked_at         REAL,
    ask_at           REAL,
    not_before_at    REAL,
    due_at           REAL,
    lease_owner      TEXT,
    lease_until      REAL,
    fence            INTEGER NOT NULL DEFAULT 0,
    suspect          TEXT NOT NULL DEFAULT '',
    n                INTEGER NOT NULL,
    head             BLOB NOT NULL,
    CHECK (final = 0 OR state = 'rejected')
) WITHOUT ROWID;

-- Live actions are those with final = 0: of them an intent has one for each slot, and of final
-- rejections any number. One index for both: the hot path asks once and writes once, for no column
-- in it changes when an action is sent and confirmed.
CREATE UNIQUE INDEX action_intent ON action (intent, (CASE WHEN final = 0 THEN slot ELSE id END));

-- A call id is unique in its session; NULLs are all different. It also lists a session's actions.
CREATE UNIQUE INDEX action_call ON action (session, tenant, call_id);

-- What is open: everything that is due or leased, and the few that wait for somebody or nobody.
CREATE INDEX action_due ON action (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX action_waiting ON action (state)
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated');
CREATE INDEX action_review ON action (review, disputed) WHERE review IS NOT NULL OR disputed <> 0;

-- stand: what was known after the event, for the last event of each write.
-- covers: the commitment of the payload that came with the event.
CREATE TABLE event (
    action_id TEXT NOT NULL,
    n         INTEGER NOT NULL,
    start     TEXT NOT NULL,  -- '' for the birth of an action
    event     TEXT NOT NULL,
    "end"     TEXT NOT NULL,
    "by"      TEXT NOT NULL,
    reason    TEXT NOT NULL,
    attempt   INTEGER NOT NULL,
    fence     INTEGER NOT NULL,
    at        REAL NOT NULL,
    detail    TEXT NOT NULL,
    hash      BLOB NOT NULL,
    stand     TEXT NOT NULL,
    covers    BLOB NOT NULL,
    PRIMARY KEY (action_id, n),
    FOREIGN KEY (start, event, "end") REFERENCES rule (start, event, "end")
) WITHOUT ROWID;

CREATE TABLE payload (
    action_id TEXT NOT NULL,
    what      TEXT NOT NULL CHECK (what IN ('args', 'result')),
    salt      BLOB NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (action_id, what)
) WITHOUT ROWID;

-- Where the events of a buried action were: how far its chain had come, under a seal of its own.
CREATE TABLE tombstone (
    action_id TEXT PRIMARY KEY,
    n         INTEGER NOT NULL,
    head      BLOB NOT NULL,
    stand     TEXT NOT NULL,
    seal      BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE heartbeat (
    owner TEXT PRIMARY KEY,
    at    REAL NOT NULL
) WITHOUT ROWID;

-- The transition table holds for everybody, by hand too. `UPDATE OF`: no cost where it is not named.

CREATE TRIGGER action_moves_by_rule BEFORE UPDATE OF state, final, kind, code, provider_ref ON action
WHEN (
    -- a state changes by a row of the table; what is rejected for good is not sent again
    NEW.state <> OLD.state AND NOT EXISTS (
        SELECT 1 FROM rule
        WHERE start = OLD.state AND "end" = NEW.state AND (unless_final = 0 OR OLD.final = 0)
    )
) OR (
    -- a final rejection stays what it is
    OLD.final = 1 AND (NEW.final <> 1 OR NEW.kind IS NOT OLD.kind OR NEW.code IS NOT OLD.code)
) OR (
    -- what is settled keeps its reference
    OLD.state IN ('confirmed', 'compensated') AND NEW.state = OLD.state
    AND OLD.provider_ref IS NOT NULL AND NEW.provider_ref IS NOT OLD.provider_ref
)
BEGIN
    SELECT RAISE(ABORT, 'ascertain: the transition table does not allow this change');
END;

CREATE TRIGGER action_identity_stays
BEFORE UPDATE OF id, tenant, tool, session, slot, call_id, intent, ordinal, exact, wording, "key",
    contract, created_at ON action
BEGIN
    SELECT RAISE(ABORT, 'ascertain: the identity and the key of an intent never change');
END;

CREATE TRIGGER action_is_kept BEFORE DELETE ON action
BEGIN
    SELECT RAISE(ABORT, 'ascertain: an action is never deleted; bury() leaves a tombstone');
END;

CREATE TRIGGER event_is_written_once BEFORE UPDATE ON event
BEGIN
    SELECT RAISE(ABORT, 'ascertain: an event is written once');
END;

CREATE TRIGGER event_is_kept BEFORE DELETE ON event
WHEN NOT EXISTS (SELECT 1 FROM tombstone WHERE action_id = OLD.action_id AND n >= OLD.n)
BEGIN
    SELECT RAISE(ABORT, 'ascertain: an event is kept until its action is buried');
END;

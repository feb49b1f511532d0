-- The ledger in PostgreSQL. Numbered, up only: this file is never edited once it is released.
--
-- The tables are those of SQLite. Words are compared byte by byte ("C"), as SQLite does it, which is
-- also quicker. What the transition table allows is generated from it by the code that migrates: a
-- CHECK on events and the condition of a trigger on actions, which cost less than a look into `rule`.

CREATE TABLE meta (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE rule (
    start        text COLLATE "C" NOT NULL,  -- '' for the birth of an action
    event        text COLLATE "C" NOT NULL,
    "end"        text COLLATE "C" NOT NULL,
    unless_final integer NOT NULL,
    PRIMARY KEY (start, event, "end")
);

CREATE TABLE contract (
    digest text COLLATE "C" PRIMARY KEY,
    json   text NOT NULL
);

CREATE TABLE action (
    id               text COLLATE "C" PRIMARY KEY,
    tenant           text COLLATE "C" NOT NULL,
    tool             text COLLATE "C" NOT NULL,
    principal        text COLLATE "C" NOT NULL,
    session          text COLLATE "C" NOT NULL,
    opening          text COLLATE "C" NOT NULL,
    turn             text COLLATE "C" NOT NULL,
    slot             text COLLATE "C" NOT NULL,
    chain            text COLLATE "C" NOT NULL,
    call_id          text COLLATE "C",
    parent           text COLLATE "C",
    replaces         text COLLATE "C",
    intent           text COLLATE "C" NOT NULL,
    ordinal          text COLLATE "C" NOT NULL,
    exact            text COLLATE "C" NOT NULL,
    wording          text COLLATE "C" NOT NULL,
    "key"            text COLLATE "C" NOT NULL,
    contract         text COLLATE "C" NOT NULL,
    mode             text COLLATE "C" NOT NULL,
    created_at       double precision NOT NULL,
    send_by_at       double precision NOT NULL,
    state            text COLLATE "C" NOT NULL,
    final            integer NOT NULL DEFAULT 0,
    kind             text COLLATE "C",
    reason           text COLLATE "C" NOT NULL DEFAULT '',
    code             text COLLATE "C",
    attempt          bigint NOT NULL DEFAULT 0,
    sends            bigint NOT NULL DEFAULT 0,
    doubt            bigint NOT NULL DEFAULT 0,
    provider_ref     text COLLATE "C",
    related_ref      text COLLATE "C",
    handle           text COLLATE "C",
    evidence         text COLLATE "C" NOT NULL DEFAULT 'not_asked',
    asked            bigint NOT NULL DEFAULT 0,
    unanswered       bigint NOT NULL DEFAULT 0,
    refused          bigint NOT NULL DEFAULT 0,
    disputed         integer NOT NULL DEFAULT 0,
    maybe_twice      integer NOT NULL DEFAULT 0,
    review           text COLLATE "C",
    review_at        double precision,
    updated_at       double precision NOT NULL,
    first_sent_at    double precision,
    last_sent_at     double precision,
    last_possible_at double precision,
    asked_at         double precision,
    ask_at           double precision,
    not_before_at    double precision,
    due_at           double precision,
    lease_owner      text COLLATE "C",
    lease_until      double precision,
    fence            bigint NOT NULL DEFAULT 0,
    suspect          text COLLATE "C" NOT NULL DEFAULT '',
    n                bigint NOT NULL,
    head             bytea NOT NULL,
    CHECK (final = 0 OR state = 'rejected')
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE UNIQUE INDEX action_intent ON action (intent, (CASE WHEN final = 0 THEN slot ELSE id END));
CREATE UNIQUE INDEX action_call ON action (session, tenant, call_id);
CREATE INDEX action_due ON action (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX action_waiting ON action (state)
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated');
CREATE INDEX action_review ON action (review, disputed) WHERE review IS NOT NULL OR disputed <> 0;

CREATE TABLE event (
    action_id text COLLATE "C" NOT NULL,
    n         bigint NOT NULL,
    start     text COLLATE "C" NOT NULL,  -- '' for the birth of an action
    event     text COLLATE "C" NOT NULL,
    "end"     text COLLATE "C" NOT NULL,
    "by"      text COLLATE "C" NOT NULL,
    reason    text COLLATE "C" NOT NULL,
    attempt   bigint NOT NULL,
    fence     bigint NOT NULL,
    at        double precision NOT NULL,
    detail    text COLLATE "C" NOT NULL,
    hash      bytea NOT NULL,
    stand     text COLLATE "C" NOT NULL,
    covers    bytea NOT NULL,
    PRIMARY KEY (action_id, n)
);

CREATE TABLE payload (
    action_id text COLLATE "C" NOT NULL,
    what      text COLLATE "C" NOT NULL CHECK (what IN ('args', 'result')),
    salt      bytea NOT NULL,
    body      text COLLATE "C" NOT NULL,
    PRIMARY KEY (action_id, what)
);

CREATE TABLE tombstone (
    action_id text COLLATE "C" PRIMARY KEY,
    n         bigint NOT NULL,
    head      bytea NOT NULL,
    stand     text COLLATE "C" NOT NULL,
    seal      bytea NOT NULL
);

CREATE TABLE heartbeat (
    owner text COLLATE "C" PRIMARY KEY,
    at    double precision NOT NULL
);

CREATE TABLE lookalike (
    action_id text COLLATE "C" PRIMARY KEY,
    tenant    text COLLATE "C" NOT NULL,
    tool      text COLLATE "C" NOT NULL,
    fields    text COLLATE "C" NOT NULL
);
CREATE INDEX lookalike_fields ON lookalike (tenant, tool, fields);

CREATE TABLE claim (
    tenant       text COLLATE "C" NOT NULL,
    tool         text COLLATE "C" NOT NULL,
    provider_ref text COLLATE "C" NOT NULL,
    action_id    text COLLATE "C" NOT NULL,
    "by"         text COLLATE "C" NOT NULL CHECK ("by" IN ('lookup', 'answer', 'verdict')),
    claimed_at   double precision NOT NULL,
    PRIMARY KEY (tenant, tool, provider_ref)
);

CREATE TABLE chain (
    id         text COLLATE "C" PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    principal  text COLLATE "C" NOT NULL,
    session    text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    ordinal    text COLLATE "C" NOT NULL,
    wish       text COLLATE "C" NOT NULL,
    wish_zh    text COLLATE "C" NOT NULL,
    plan       text COLLATE "C" NOT NULL,
    created_at double precision NOT NULL,
    direction  text COLLATE "C" NOT NULL CHECK (direction IN ('forward', 'backward')),
    reason     text COLLATE "C" NOT NULL,
    turned_at  double precision,
    stopped_at double precision,
    due_at     double precision,
    owner      text COLLATE "C" NOT NULL
);
CREATE INDEX chain_session ON chain (session, tenant);
CREATE INDEX chain_due ON chain (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE member (
    chain     text COLLATE "C" NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    step      text COLLATE "C" NOT NULL,
    position  bigint NOT NULL,
    weight    text COLLATE "C" NOT NULL CHECK (weight IN ('essential', 'best_effort')),
    after     text COLLATE "C" NOT NULL,
    undoes    text COLLATE "C" NOT NULL,
    kept      integer NOT NULL,
    PRIMARY KEY (chain, action_id)
);

CREATE TABLE session (
    tenant     text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    principal  text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    epoch      text COLLATE "C" NOT NULL,
    opened_at  double precision NOT NULL,
    seen_at    double precision NOT NULL,
    expires_at double precision NOT NULL,
    cleared_at double precision,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX session_expires ON session (expires_at) WHERE cleared_at IS NULL;

CREATE TABLE context (
    tenant     text COLLATE "C" NOT NULL,
    session    text COLLATE "C" NOT NULL,
    "key"      text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    value      text COLLATE "C",
    why        text COLLATE "C" NOT NULL,
    writer     text COLLATE "C" NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    superseded integer NOT NULL,
    began_at   double precision NOT NULL,
    at         double precision NOT NULL,
    bytes      bigint NOT NULL,
    PRIMARY KEY (tenant, session, "key", version)
);

CREATE TABLE pledge (
    tenant    text COLLATE "C" NOT NULL,
    session   text COLLATE "C" NOT NULL,
    "key"     text COLLATE "C" NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    base      bigint NOT NULL,
    PRIMARY KEY (tenant, session, "key", action_id)
);

CREATE TABLE breaker (
    name        text COLLATE "C" PRIMARY KEY,
    circuit     text COLLATE "C" NOT NULL CHECK (circuit IN ('closed', 'open', 'probing')),
    why         text COLLATE "C" NOT NULL,
    "by"        text COLLATE "C" NOT NULL,
    changed_at  double precision NOT NULL,
    opened_at   double precision,
    cool_at     double precision,
    try_at      double precision,
    prober      text COLLATE "C",
    probe_until double precision,
    n           bigint NOT NULL
);

-- What nobody may do, by hand either. Each says so in the words that people will read.

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', 'ascertain: ' || TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE FUNCTION refuse_unless_buried() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM tombstone AS t WHERE t.action_id = OLD.action_id AND t.n >= OLD.n) THEN
        RAISE EXCEPTION 'ascertain: an event is kept until its action is buried'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN OLD;
END
$$;

CREATE TRIGGER action_identity_stays
BEFORE UPDATE OF id, tenant, tool, session, slot, call_id, intent, ordinal, exact, wording, "key",
    contract, created_at ON action
FOR EACH ROW EXECUTE FUNCTION refuse('the identity and the key of an intent never change');

CREATE TRIGGER action_is_kept BEFORE DELETE ON action
FOR EACH ROW EXECUTE FUNCTION refuse('an action is never deleted; bury() leaves a tombstone');

CREATE TRIGGER actions_are_kept BEFORE TRUNCATE ON action
FOR EACH STATEMENT EXECUTE FUNCTION refuse('an action is never deleted; bury() leaves a tombstone');

CREATE TRIGGER event_is_written_once BEFORE UPDATE ON event
FOR EACH ROW EXECUTE FUNCTION refuse('an event is written once');

CREATE TRIGGER event_is_kept BEFORE DELETE ON event
FOR EACH ROW EXECUTE FUNCTION refuse_unless_buried();

CREATE TRIGGER events_are_kept BEFORE TRUNCATE ON event
FOR EACH STATEMENT EXECUTE FUNCTION refuse('an event is kept until its action is buried');

CREATE TRIGGER chain_never_turns_again BEFORE UPDATE OF direction ON chain
FOR EACH ROW WHEN (OLD.direction = 'backward' AND NEW.direction <> 'backward')
EXECUTE FUNCTION refuse('a chain that goes back never goes forward again');

CREATE TRIGGER chain_stays_stopped BEFORE UPDATE OF stopped_at ON chain
FOR EACH ROW WHEN (OLD.stopped_at IS NOT NULL AND NEW.stopped_at IS NULL)
EXECUTE FUNCTION refuse('a chain that was stopped stays stopped');

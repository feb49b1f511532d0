-- Many workers: what is due is found by tenant and tool, so that none of them holds up the others;
-- providers' rates and counts of the last minutes are shared by all who use the ledger.

-- step alone
CREATE INDEX CONCURRENTLY IF NOT EXISTS action_due_of_tool ON action (tenant, tool, due_at, id)
    WHERE due_at IS NOT NULL;

-- step
DROP INDEX action_due;
ALTER INDEX action_due_of_tool RENAME TO action_due;

-- step
-- How often a provider may be spoken to, and what of it is taken just now. `usage` is JSON, read and
-- written in one piece by the rules of turns.
CREATE TABLE rate (
    name     text COLLATE "C" PRIMARY KEY,
    most     bigint NOT NULL,
    window_s double precision NOT NULL,
    usage    text NOT NULL
);

-- step
-- When a worker said that it was ending.
ALTER TABLE heartbeat ADD COLUMN ended_at double precision;

-- step
-- What happened in each second, by tool: for people who watch, and no evidence of anything.
CREATE TABLE tally (
    at   bigint NOT NULL,
    tool text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (at, tool, what)
);

-- For the owner of the ledger: let a role in, for one tenant more.
CREATE OR REPLACE FUNCTION let_in(role text, tenant text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO tenant_role VALUES (role, tenant) ON CONFLICT DO NOTHING;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I', current_schema(), role);
    EXECUTE format('GRANT INSERT, UPDATE ON contract, action, event, payload, heartbeat, lookalike, claim,'
        ' chain, member, session, context, pledge, breaker, rate, tally TO %I', role);
    EXECUTE format('GRANT INSERT ON tombstone TO %I', role);
    EXECUTE format('GRANT DELETE ON event, payload, heartbeat, lookalike, context, pledge, tally TO %I', role);
END
$$;

-- Rates and counts name no tenant; whoever was let in before shares them too.
DO $$
DECLARE
    one text;
BEGIN
    FOR one IN SELECT DISTINCT role FROM tenant_role LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON rate, tally TO %I', one);
        EXECUTE format('GRANT DELETE ON tally TO %I', one);
    END LOOP;
END
$$;

-- Epochs: where the history of this ledger may have broken off and gone on as another one.
--
-- oldest writer: 4

CREATE TABLE epoch (
    n          bigint PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    system     text COLLATE "C" NOT NULL,  -- the database system's own id
    timeline   bigint NOT NULL,            -- of its journal
    why        text COLLATE "C" NOT NULL,
    began_at   double precision NOT NULL,
    kept_at    double precision,           -- the last commit that came over
    "by"       text COLLATE "C" NOT NULL,
    missing    text COLLATE "C" NOT NULL DEFAULT '',
    settled_at double precision,
    settled_by text COLLATE "C" NOT NULL DEFAULT ''
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
    EXECUTE format('GRANT INSERT, UPDATE (missing) ON epoch TO %I', role);
    EXECUTE format('GRANT DELETE ON event, payload, heartbeat, lookalike, context, pledge, tally TO %I', role);
END
$$;

-- A break concerns all tenants; whoever was let in before may see one, and say so.
DO $$
DECLARE
    one text;
BEGIN
    FOR one IN SELECT DISTINCT role FROM tenant_role LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE (missing) ON epoch TO %I', one);
    END LOOP;
END
$$;

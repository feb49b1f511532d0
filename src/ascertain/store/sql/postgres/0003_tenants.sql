-- A second wall between tenants, inside the database: a role that is let in for a tenant sees and
-- changes the rows of that tenant only, whatever the code asks for. The owner of the tables and
-- superusers are not bound by it; they work for all tenants.

CREATE TABLE tenant_role (
    role   text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, tenant)
);

ALTER TABLE tenant_role ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON tenant_role FOR SELECT USING (role = current_user);

-- One at a time: nobody waits for all of them together.
-- step
ALTER TABLE action ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE lookalike ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE claim ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE chain ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE session ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE context ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE pledge ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE event ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE payload ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE tombstone ENABLE ROW LEVEL SECURITY;
-- step
ALTER TABLE member ENABLE ROW LEVEL SECURITY;

-- step
CREATE POLICY own_tenants ON action USING (tenant IN (SELECT r.tenant FROM tenant_role AS r));
-- step
CREATE POLICY own_tenants ON lookalike USING (tenant IN (SELECT r.tenant FROM tenant_role AS r));
-- step
CREATE POLICY own_tenants ON claim USING (tenant IN (SELECT r.tenant FROM tenant_role AS r));
-- step
CREATE POLICY own_tenants ON chain USING (tenant IN (SELECT r.tenant FROM tenant_role AS r));
-- step
CREATE POLICY own_tenants ON session USING (tenant IN (SELECT r.tenant FROM tenant_role AS r));
-- step
CREATE POLICY own_tenants ON context USING (tenant IN (SELECT r.tenant FROM tenant_role AS r));
-- step
CREATE POLICY own_tenants ON pledge USING (tenant IN (SELECT r.tenant FROM tenant_role AS r));

-- What belongs to an action is seen with it. It may be written beside an action that the same
-- statement writes and that cannot be seen yet; a foreign event does not fit into a foreign chain.
-- step
CREATE POLICY of_own_actions ON event
    USING (EXISTS (SELECT 1 FROM action AS a WHERE a.id = action_id)) WITH CHECK (true);
-- step
CREATE POLICY of_own_actions ON payload
    USING (EXISTS (SELECT 1 FROM action AS a WHERE a.id = action_id)) WITH CHECK (true);
-- step
CREATE POLICY of_own_actions ON tombstone
    USING (EXISTS (SELECT 1 FROM action AS a WHERE a.id = action_id)) WITH CHECK (true);
-- step
CREATE POLICY of_own_actions ON member
    USING (EXISTS (SELECT 1 FROM action AS a WHERE a.id = action_id)) WITH CHECK (true);

-- step
-- For the owner of the ledger: let a role in, for one tenant more.
CREATE FUNCTION let_in(role text, tenant text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO tenant_role VALUES (role, tenant) ON CONFLICT DO NOTHING;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO %I', current_schema(), role);
    EXECUTE format('GRANT INSERT, UPDATE ON contract, action, event, payload, heartbeat, lookalike, claim,'
        ' chain, member, session, context, pledge, breaker TO %I', role);
    EXECUTE format('GRANT INSERT ON tombstone TO %I', role);
    EXECUTE format('GRANT DELETE ON event, payload, heartbeat, lookalike, context, pledge TO %I', role);
END
$$;
REVOKE ALL ON FUNCTION let_in(text, text) FROM PUBLIC;

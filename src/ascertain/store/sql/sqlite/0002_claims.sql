-- Which action a provider's reference belongs to, for tools whose look-up goes by fields: there a
-- record does not say whose it is, and one record must not confirm two actions. Actions of other
-- tools have no rows in either table.

-- Actions that a look-up by fields could take for one another, from their first write until they
-- have a reference of their own.
CREATE TABLE lookalike (
    action_id TEXT PRIMARY KEY,
    tenant    TEXT NOT NULL,
    tool      TEXT NOT NULL,
    fields    TEXT NOT NULL  -- a digest; '' for an action that was stored without one
) WITHOUT ROWID;

CREATE INDEX lookalike_fields ON lookalike (tenant, tool, fields);

CREATE TABLE claim (
    tenant       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    provider_ref TEXT NOT NULL,
    action_id    TEXT NOT NULL,
    "by"         TEXT NOT NULL CHECK ("by" IN ('lookup', 'answer', 'verdict')),
    claimed_at   REAL NOT NULL,
    PRIMARY KEY (tenant, tool, provider_ref)
) WITHOUT ROWID;

-- What is known already keeps its reference, and what is open may be taken for any other.

INSERT INTO claim (tenant, tool, provider_ref, action_id, "by", claimed_at)
SELECT tenant, tool, provider_ref, id,
    CASE reason WHEN 'found_by_lookup' THEN 'lookup' WHEN 'verdict_confirmed' THEN 'verdict' ELSE 'answer' END,
    updated_at
FROM action
WHERE provider_ref IS NOT NULL AND state IN ('confirmed', 'compensated')
    AND contract IN (SELECT digest FROM contract WHERE json_extract(json, '$.lookup.by') = 'fields')
ORDER BY reason = 'found_by_lookup', id
ON CONFLICT DO NOTHING;

INSERT INTO lookalike (action_id, tenant, tool, fields)
SELECT id, tenant, tool, '' FROM action
WHERE final = 0 AND (provider_ref IS NULL OR state NOT IN ('confirmed', 'compensated'))
    AND contract IN (SELECT digest FROM contract WHERE json_extract(json, '$.lookup.by') = 'fields');

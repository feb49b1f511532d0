-- The questions and verbs of a ledger, for every backend. What each has to say in its own way stands
-- in its own file.
--
-- A query is announced by its name and the order of its parameters. {action} stands for the columns of
-- an action, {moving} for those that may change after its birth. The text of {columns}, {values} and
-- {changes} depends on which of the values are NULL: a literal NULL is cheaper than a bound one.

-- name: insert_action (*)
-- Writes nothing where the call id is known or a live action has the slot.
INSERT INTO action ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING;

-- name: advance (*)
UPDATE action SET {changes}
WHERE id = :id AND n = :before_n AND fence = :before_fence;

-- name: pass_through (state, id, n, fence)
-- One of the states in between, where a write makes several moves.
UPDATE action SET state = :state WHERE id = :id AND n = :n AND fence = :fence;

-- name: insert_event (action_id, n, start, event, end, by, reason, attempt, fence, at, detail, hash, stand, covers)
INSERT INTO event VALUES
(:action_id, :n, :start, :event, :end, :by, :reason, :attempt, :fence, :at, :detail, :hash, :stand, :covers);

-- name: put_lookalike (action_id, tenant, tool, fields)
INSERT INTO lookalike (action_id, tenant, tool, fields) VALUES (:action_id, :tenant, :tool, :fields)
ON CONFLICT (action_id) DO NOTHING;

-- name: fields_of (action_id)
SELECT fields FROM lookalike WHERE action_id = :action_id;

-- name: rivals (tenant, tool, fields, action_id, since)
-- What might have caused the same record (see rules.claims.may_be_rival).
SELECT {action} FROM action
WHERE id IN (
    SELECT action_id FROM lookalike WHERE tenant = :tenant AND tool = :tool AND fields = :fields
  )
  AND id <> :action_id AND first_sent_at IS NOT NULL
  AND (state IN ('sent', 'unknown')
       OR (state = 'confirmed' AND provider_ref IS NULL AND updated_at >= :since))
ORDER BY id LIMIT 1;

-- name: rivals_of_all (tenant, tool, action_id, since)
-- The same for an action of which it is not known what it looks like.
SELECT {action} FROM action
WHERE id IN (SELECT action_id FROM lookalike WHERE tenant = :tenant AND tool = :tool)
  AND id <> :action_id AND first_sent_at IS NOT NULL
  AND (state IN ('sent', 'unknown')
       OR (state = 'confirmed' AND provider_ref IS NULL AND updated_at >= :since))
ORDER BY id LIMIT 1;

-- name: claim_of (tenant, tool, provider_ref)
SELECT action_id, "by", claimed_at FROM claim
WHERE tenant = :tenant AND tool = :tool AND provider_ref = :provider_ref;

-- name: put_claim (tenant, tool, provider_ref, action_id, by, claimed_at)
INSERT INTO claim (tenant, tool, provider_ref, action_id, "by", claimed_at)
VALUES (:tenant, :tool, :provider_ref, :action_id, :by, :claimed_at)
ON CONFLICT (tenant, tool, provider_ref) DO UPDATE
SET action_id = excluded.action_id, "by" = excluded."by", claimed_at = excluded.claimed_at;

-- name: forget_lookalike (action_id)
DELETE FROM lookalike WHERE action_id = :action_id;

-- name: put_payload (action_id, what, salt, body)
INSERT INTO payload (action_id, what, salt, body) VALUES (:action_id, :what, :salt, :body)
ON CONFLICT (action_id, what) DO UPDATE SET salt = excluded.salt, body = excluded.body;

-- name: put_contract (digest, json)
INSERT INTO contract (digest, json) VALUES (:digest, :json) ON CONFLICT (digest) DO NOTHING;

-- name: by_id (id)
SELECT {action} FROM action WHERE id = :id;

-- name: by_call_id (session, tenant, call_id)
SELECT {action} FROM action WHERE session = :session AND tenant = :tenant AND call_id = :call_id;

-- name: by_intent (intent)
SELECT {action} FROM action WHERE intent = :intent ORDER BY id DESC;

-- name: holders (now)
SELECT DISTINCT lease_owner FROM action WHERE due_at IS NOT NULL AND lease_until > :now;

-- name: lease (owner, until, fence, suspect, id)
UPDATE action SET lease_owner = :owner, lease_until = :until, due_at = :until, fence = :fence,
    suspect = :suspect
WHERE id = :id;

-- name: next_due
SELECT min(due_at) FROM action WHERE due_at IS NOT NULL;

-- name: count_open
SELECT state, sum(actions) FROM (
    SELECT state, count(*) AS actions FROM action
    WHERE due_at IS NOT NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
    GROUP BY state
    UNION ALL
    SELECT state, count(*) AS actions FROM action
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
    GROUP BY state
) AS part
GROUP BY state;

-- name: count_review
SELECT count(review), count(nullif(disputed, 0)) FROM action
WHERE review IS NOT NULL OR disputed <> 0;

-- name: find_all (tenant, session, turn, chain, tool, state, before_id, limit)
SELECT {action} FROM action
WHERE (:tenant IS NULL OR tenant = :tenant) AND (:session IS NULL OR session = :session)
  AND (:turn IS NULL OR turn = :turn) AND (:chain IS NULL OR chain = :chain)
  AND (:tool IS NULL OR tool = :tool) AND (:state IS NULL OR state = :state)
  AND id < :before_id
ORDER BY id DESC LIMIT :limit;

-- name: find_session (tenant, session, turn, chain, tool, state, open_only, review_only, before_id, limit)
SELECT {action} FROM action
WHERE (:tenant IS NULL OR tenant = :tenant) AND session = :session
  AND (:turn IS NULL OR turn = :turn) AND (:chain IS NULL OR chain = :chain)
  AND (:tool IS NULL OR tool = :tool) AND (:state IS NULL OR state = :state)
  AND (:open_only = 0 OR (final = 0 AND state NOT IN ('confirmed', 'compensated')))
  AND (:review_only = 0 OR review IS NOT NULL OR disputed <> 0)
  AND id < :before_id
ORDER BY id DESC LIMIT :limit;

-- name: events_of (action_id)
SELECT action_id, n, start, event, "end", "by", reason, attempt, fence, at, detail, hash, stand, covers
FROM event WHERE action_id = :action_id ORDER BY n;

-- name: has_event (action_id, n, hash)
SELECT 1 FROM event WHERE action_id = :action_id AND n = :n AND hash = :hash;

-- name: payload_of (action_id, what)
SELECT body, salt FROM payload WHERE action_id = :action_id AND what = :what;

-- name: contract_of (digest)
SELECT json FROM contract WHERE digest = :digest;

-- name: tombstone_of (action_id)
SELECT n, head, stand, seal FROM tombstone WHERE action_id = :action_id;

-- name: ids_after (after_id, limit)
SELECT id FROM action WHERE id > :after_id ORDER BY id LIMIT :limit;

-- name: orphans
-- Events and payloads whose action is gone.
SELECT DISTINCT action_id FROM event WHERE action_id NOT IN (SELECT id FROM action)
UNION
SELECT action_id FROM payload WHERE action_id NOT IN (SELECT id FROM action)
UNION
SELECT action_id FROM tombstone WHERE action_id NOT IN (SELECT id FROM action);

-- name: closed (closed_before, limit)
SELECT id FROM action
WHERE updated_at < :closed_before AND (final = 1 OR state IN ('confirmed', 'compensated'))
  AND due_at IS NULL AND review IS NULL AND disputed = 0
  AND id NOT IN (SELECT action_id FROM tombstone)
LIMIT :limit;

-- name: bury_row (id)
UPDATE action SET principal = '', handle = NULL, lease_owner = NULL, lease_until = NULL,
    suspect = ''
WHERE id = :id;

-- name: bury_seal (action_id, n, head, stand, seal)
INSERT INTO tombstone (action_id, n, head, stand, seal)
VALUES (:action_id, :n, :head, :stand, :seal);

-- name: bury_events (action_id)
DELETE FROM event WHERE action_id = :action_id;

-- name: bury_payload (action_id)
DELETE FROM payload WHERE action_id = :action_id;

-- name: get_meta (name)
SELECT value FROM meta WHERE name = :name;

-- name: put_meta (name, value)
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: rules
SELECT start, event, "end", unless_final FROM rule;

-- name: put_rule (start, event, end, unless_final)
INSERT INTO rule (start, event, "end", unless_final) VALUES (:start, :event, :end, :unless_final)
ON CONFLICT (start, event, "end") DO UPDATE SET unless_final = excluded.unless_final;

-- name: beat (owner, at)
INSERT INTO heartbeat (owner, at) VALUES (:owner, :at)
ON CONFLICT (owner) DO UPDATE SET at = excluded.at;

-- name: forget_beats (before)
DELETE FROM heartbeat WHERE at < :before;

-- name: last_beat
SELECT max(at) FROM heartbeat;

-- name: breakers
SELECT name, circuit, why, "by", changed_at, opened_at, cool_at, try_at, prober, probe_until, n
FROM breaker ORDER BY name;

-- name: turn_breaker (name, circuit, why, by, changed_at, opened_at, cool_at, try_at, prober, probe_until, n, before_n)
-- Writes nothing where somebody has turned it meanwhile.
INSERT INTO breaker
(name, circuit, why, "by", changed_at, opened_at, cool_at, try_at, prober, probe_until, n)
VALUES (:name, :circuit, :why, :by, :changed_at, :opened_at, :cool_at, :try_at, :prober, :probe_until, :n)
ON CONFLICT (name) DO UPDATE SET circuit = excluded.circuit, why = excluded.why, "by" = excluded."by",
    changed_at = excluded.changed_at, opened_at = excluded.opened_at, cool_at = excluded.cool_at,
    try_at = excluded.try_at, prober = excluded.prober, probe_until = excluded.probe_until,
    n = excluded.n
WHERE breaker.n = :before_n;

-- What SQLite has to say in its own way. A list of words comes as one JSON text. Where little is open
-- among many actions, the index is named: SQLite would rather read all of them in order.

-- name: intents_stored (intents)
-- Which of these intents have any action.
SELECT intent FROM action WHERE intent IN (SELECT value FROM json_each(:intents));

-- name: due_one (id, now, gone, tools)
SELECT {action} FROM action
WHERE id = :id
  AND (lease_until IS NULL OR lease_until <= :now
       OR lease_owner IN (SELECT value FROM json_each(:gone)))
  AND (:tools IS NULL OR tool IN (SELECT value FROM json_each(:tools)));

-- name: holders (now)
-- Step by step through tenants and tools, of each what is due later: what is leased is due when its
-- lease ends, and a backlog that is due already is not read. Which of them are leased the index says.
SELECT DISTINCT lease_owner FROM action
WHERE id IN (
    SELECT a.id FROM ({open_pairs}) AS head CROSS JOIN action a
    WHERE a.tenant = head.tenant AND a.tool = head.tool AND a.due_at IS NOT NULL AND a.due_at > :now
      AND a.lease_until > :now
);

-- name: leases_of (now)
-- In the same way.
SELECT lease_owner, count(*) FROM action
WHERE id IN (
    SELECT a.id FROM ({open_pairs}) AS head CROSS JOIN action a
    WHERE a.tenant = head.tenant AND a.tool = head.tool AND a.due_at IS NOT NULL AND a.due_at > :now
      AND a.lease_until > :now
)
GROUP BY lease_owner;

-- name: due_of_gone (gone, now, tools, limit)
-- In the same way.
SELECT {action} FROM action
WHERE id IN (
    SELECT a.id FROM ({open_pairs}) AS head CROSS JOIN action a
    WHERE a.tenant = head.tenant AND a.tool = head.tool AND a.due_at IS NOT NULL AND a.due_at > :now
      AND a.lease_until > :now
      AND (:tools IS NULL OR a.tool IN (SELECT value FROM json_each(:tools)))
  )
  AND lease_owner IN (SELECT value FROM json_each(:gone))
ORDER BY row_number() OVER (PARTITION BY tenant, tool ORDER BY due_at, id), tenant, tool
LIMIT :limit;

-- name: find_open (tenant, session, turn, chain, tool, state, review_only, before_id, limit)
SELECT {action} FROM (
    SELECT {action} FROM action INDEXED BY action_due
    WHERE due_at IS NOT NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
    UNION ALL
    SELECT {action} FROM action INDEXED BY action_waiting
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
) AS candidate
WHERE (:tenant IS NULL OR tenant = :tenant) AND (:session IS NULL OR session = :session)
  AND (:turn IS NULL OR turn = :turn) AND (:chain IS NULL OR chain = :chain)
  AND (:tool IS NULL OR tool = :tool) AND (:state IS NULL OR state = :state)
  AND (:review_only = 0 OR review IS NOT NULL OR disputed = 1)
  AND id < :before_id
ORDER BY id DESC LIMIT :limit;

-- name: find_review (tenant, session, turn, chain, tool, state, before_id, limit)
SELECT {action} FROM action INDEXED BY action_review
WHERE (review IS NOT NULL OR disputed <> 0) AND (review IS NOT NULL OR disputed = 1)
  AND (:tenant IS NULL OR tenant = :tenant) AND (:session IS NULL OR session = :session)
  AND (:turn IS NULL OR turn = :turn) AND (:chain IS NULL OR chain = :chain)
  AND (:tool IS NULL OR tool = :tool) AND (:state IS NULL OR state = :state)
  AND id < :before_id
ORDER BY id DESC LIMIT :limit;

-- name: chains_due (now, gone, limit)
SELECT id, tenant, principal, session, name, ordinal, wish, wish_zh, plan, created_at, direction,
    reason, turned_at, stopped_at, due_at, owner
FROM chain INDEXED BY chain_due
WHERE due_at IS NOT NULL
  AND (due_at <= :now OR (plan <> '' AND owner IN (SELECT value FROM json_each(:gone))))
ORDER BY due_at, id LIMIT :limit;

-- What SQLite has to say in its own way: a list of words comes as one JSON text.

-- name: intents_stored (intents)
-- Which of these intents have any action.
SELECT intent FROM action WHERE intent IN (SELECT value FROM json_each(:intents));

-- name: due (now, tools, limit)
SELECT {action} FROM action
WHERE due_at IS NOT NULL AND due_at <= :now AND (lease_until IS NULL OR lease_until <= :now)
  AND (:tools IS NULL OR tool IN (SELECT value FROM json_each(:tools)))
ORDER BY due_at, id
LIMIT :limit;

-- name: due_one (id, now, gone, tools)
SELECT {action} FROM action
WHERE id = :id
  AND (lease_until IS NULL OR lease_until <= :now
       OR lease_owner IN (SELECT value FROM json_each(:gone)))
  AND (:tools IS NULL OR tool IN (SELECT value FROM json_each(:tools)));

-- name: due_of_gone (gone, now, tools, limit)
SELECT {action} FROM action
WHERE due_at IS NOT NULL AND lease_until > :now
  AND lease_owner IN (SELECT value FROM json_each(:gone))
  AND (:tools IS NULL OR tool IN (SELECT value FROM json_each(:tools)))
ORDER BY due_at, id
LIMIT :limit;

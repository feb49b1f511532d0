-- What PostgreSQL has to say in its own way. A list comes as one JSON text: one parameter, whatever its
-- length; rows that are written together come as one array for each column (*). Several write at once,
-- so what is read in order to be changed is locked as it is read.

-- name: insert_action (rows)
-- Writes nothing where the call id is known or a live action has the slot; gives those written.
INSERT INTO action SELECT wanted.* FROM json_populate_recordset(NULL::action, :rows::json) AS wanted
ON CONFLICT DO NOTHING RETURNING id;

-- name: advance (rows)
-- Gives those that stood as they did before. The rows come in the order of their ids. By their heads
-- they stand in the same history: after a fail-over numbers of events and fences are given once more.
UPDATE action AS a SET {changes} FROM json_to_recordset(:rows::json) AS v({moving})
WHERE a.id = v.id AND a.n = v.before_n AND a.fence = v.before_fence AND a.head = v.before_head
RETURNING a.id, a.waited;

-- name: write_new (*)
-- New actions of which no action of the same intent is known, with their events and payloads.
WITH done AS (
    INSERT INTO action ({action}) SELECT wanted.* FROM (SELECT {each_action}) AS wanted
    WHERE NOT EXISTS (SELECT 1 FROM action AS known WHERE known.intent = wanted.intent)
    ON CONFLICT DO NOTHING RETURNING id
), told AS (
    INSERT INTO event ({event}) SELECT e.* FROM (SELECT {each_event}) AS e
    WHERE (e.action_id IN (SELECT id FROM done)) IS TRUE
), kept AS (
    INSERT INTO payload ({payload}) SELECT p.* FROM (SELECT {each_payload}) AS p
    WHERE (p.action_id IN (SELECT id FROM done)) IS TRUE
)
SELECT id FROM done;

-- name: write_moves (*)
-- Moves of actions that stand as they did before, with their events and payloads. Gives those moved,
-- and for which of them somebody waits. They come in the order of their ids.
WITH done AS (
    UPDATE action AS a SET {changes} FROM (SELECT {each_moved}) AS v
    WHERE a.id = v.id AND a.n = v.before_n AND a.fence = v.before_fence AND a.head = v.before_head
    RETURNING a.id, a.waited
), told AS (
    INSERT INTO event ({event}) SELECT e.* FROM (SELECT {each_event}) AS e
    WHERE (e.action_id IN (SELECT id FROM done)) IS TRUE
), kept AS (
    INSERT INTO payload ({payload}) SELECT p.* FROM (SELECT {each_payload}) AS p
    WHERE (p.action_id IN (SELECT id FROM done)) IS TRUE
    ON CONFLICT (action_id, what) DO UPDATE SET salt = excluded.salt, body = excluded.body
)
SELECT id, waited FROM done;

-- name: write_one_new (rows, events, payloads)
-- The same with a single action, whose few rows are read quicker as JSON.
WITH done AS (
    INSERT INTO action SELECT wanted.* FROM json_populate_recordset(NULL::action, :rows::json) AS wanted
    WHERE NOT EXISTS (SELECT 1 FROM action AS known WHERE known.intent = wanted.intent)
    ON CONFLICT DO NOTHING RETURNING id
), told AS (
    INSERT INTO event SELECT e.* FROM json_populate_recordset(NULL::event, :events::json) AS e
    WHERE (e.action_id IN (SELECT id FROM done)) IS TRUE
), kept AS (
    INSERT INTO payload SELECT p.* FROM json_populate_recordset(NULL::payload, :payloads::json) AS p
    WHERE (p.action_id IN (SELECT id FROM done)) IS TRUE
)
SELECT id FROM done;

-- name: write_one_move (rows, events, payloads)
WITH done AS (
    UPDATE action AS a SET {changes} FROM json_to_recordset(:rows::json) AS v({moving})
    WHERE a.id = v.id AND a.n = v.before_n AND a.fence = v.before_fence AND a.head = v.before_head
    RETURNING a.id, a.waited
), told AS (
    INSERT INTO event SELECT e.* FROM json_populate_recordset(NULL::event, :events::json) AS e
    WHERE (e.action_id IN (SELECT id FROM done)) IS TRUE
), kept AS (
    INSERT INTO payload SELECT p.* FROM json_populate_recordset(NULL::payload, :payloads::json) AS p
    WHERE (p.action_id IN (SELECT id FROM done)) IS TRUE
    ON CONFLICT (action_id, what) DO UPDATE SET salt = excluded.salt, body = excluded.body
)
SELECT id, waited FROM done;

-- name: insert_event (rows)
INSERT INTO event SELECT * FROM json_populate_recordset(NULL::event, :rows::json);

-- name: put_payload (rows)
-- Of two results of one action in a batch the later one counts.
INSERT INTO payload SELECT DISTINCT ON (p.action_id, p.what) p.action_id, p.what, p.salt, p.body
FROM ROWS FROM (json_populate_recordset(NULL::payload, :rows::json)) WITH ORDINALITY
    AS p(action_id, what, salt, body, place)
ORDER BY p.action_id, p.what, p.place DESC
ON CONFLICT (action_id, what) DO UPDATE SET salt = excluded.salt, body = excluded.body;

-- name: lease (rows)
UPDATE action AS a SET lease_owner = v.owner, lease_until = v.until, due_at = v.until,
    fence = v.fence, suspect = v.suspect
FROM json_to_recordset(:rows::json)
    AS v(owner text, until double precision, fence bigint, suspect text, id text)
WHERE a.id = v.id;

-- name: lock_names (names)
-- Until the end of the transaction; in one order, whoever asks.
SELECT count(pg_advisory_xact_lock(h)) FROM (
    SELECT DISTINCT hashtextextended(current_setting('search_path') || name, 0) AS h
    FROM jsonb_array_elements_text(:names::jsonb) AS name ORDER BY h
) AS ordered;

-- name: hold_all (ids, chains)
-- These actions, and those of these chains; in one order, whoever asks.
SELECT count(*) FROM (
    SELECT id FROM action WHERE id IN (
        SELECT jsonb_array_elements_text(:ids::jsonb)
        UNION SELECT action_id FROM member
        WHERE chain IN (SELECT jsonb_array_elements_text(:chains::jsonb))
    ) ORDER BY id FOR NO KEY UPDATE
) AS held;

-- name: hold_range (first_id, last_id)
SELECT id, n, head FROM action WHERE id >= :first_id AND id <= :last_id ORDER BY id
FOR NO KEY UPDATE;

-- name: intents_stored (intents)
SELECT DISTINCT intent FROM action
WHERE intent IN (SELECT jsonb_array_elements_text(:intents::jsonb));

-- name: due_of (tenant, tool, now, limit, skip)
SELECT {action} FROM action
WHERE tenant = :tenant AND tool = :tool AND due_at IS NOT NULL AND due_at <= :now
  AND (lease_until IS NULL OR lease_until <= :now)
ORDER BY due_at, id LIMIT :limit OFFSET :skip FOR NO KEY UPDATE SKIP LOCKED;

-- name: due_one (id, now, gone, tools)
SELECT {action} FROM action
WHERE id = :id
  AND (lease_until IS NULL OR lease_until <= :now
       OR lease_owner IN (SELECT jsonb_array_elements_text(:gone::jsonb)))
  AND (:tools IS NULL OR tool IN (SELECT jsonb_array_elements_text(:tools::jsonb)))
FOR NO KEY UPDATE;

-- name: holders (now)
-- What is leased is due when its lease ends: a backlog that is due is passed over in the index.
SELECT DISTINCT lease_owner FROM action
WHERE due_at IS NOT NULL AND due_at > :now AND lease_until > :now;

-- name: leases_of (now)
-- In the same way.
SELECT lease_owner, count(*) FROM action
WHERE due_at IS NOT NULL AND due_at > :now AND lease_until > :now GROUP BY lease_owner;

-- name: due_of_gone (gone, now, tools, limit)
-- Locked after they are put in order: one that somebody else is just taking is left out. As in
-- `holders`, a backlog is passed over in the index.
WITH wanted AS (
    SELECT id, row_number() OVER (PARTITION BY tenant, tool ORDER BY due_at, id) AS place
    FROM action
    WHERE due_at IS NOT NULL AND due_at > :now AND lease_until > :now
      AND lease_owner IN (SELECT jsonb_array_elements_text(:gone::jsonb))
      AND (:tools IS NULL OR tool IN (SELECT jsonb_array_elements_text(:tools::jsonb)))
)
SELECT {action} FROM (
    SELECT {action} FROM action
    WHERE id IN (SELECT w.id FROM wanted AS w ORDER BY w.place LIMIT :limit)
      AND due_at IS NOT NULL AND lease_until > :now
      AND lease_owner IN (SELECT jsonb_array_elements_text(:gone::jsonb))
    FOR NO KEY UPDATE SKIP LOCKED
) AS held
ORDER BY (SELECT w.place FROM wanted AS w WHERE w.id = held.id), tenant, tool;

-- name: tallies (since)
SELECT tool, what, sum(n)::bigint FROM tally WHERE at >= :since GROUP BY tool, what
ORDER BY tool, what;

-- name: count_open
SELECT state, sum(actions)::bigint FROM (
    SELECT state, count(*) AS actions FROM action
    WHERE due_at IS NOT NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
    GROUP BY state
    UNION ALL
    SELECT state, count(*) AS actions FROM action
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
    GROUP BY state
) AS part
GROUP BY state;

-- name: find_open (tenant, session, turn, chain, tool, state, review_only, before_id, limit)
SELECT {action} FROM (
    SELECT {action} FROM action
    WHERE due_at IS NOT NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
    UNION ALL
    SELECT {action} FROM action
    WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
) AS candidate
WHERE (:tenant IS NULL OR tenant = :tenant) AND (:session IS NULL OR session = :session)
  AND (:turn IS NULL OR turn = :turn) AND (:chain IS NULL OR chain = :chain)
  AND (:tool IS NULL OR tool = :tool) AND (:state IS NULL OR state = :state)
  AND (:review_only = 0 OR review IS NOT NULL OR disputed = 1)
  AND id < :before_id
ORDER BY id DESC LIMIT :limit;

-- name: find_review (tenant, session, turn, chain, tool, state, before_id, limit)
SELECT {action} FROM action
WHERE (review IS NOT NULL OR disputed <> 0) AND (review IS NOT NULL OR disputed = 1)
  AND (:tenant IS NULL OR tenant = :tenant) AND (:session IS NULL OR session = :session)
  AND (:turn IS NULL OR turn = :turn) AND (:chain IS NULL OR chain = :chain)
  AND (:tool IS NULL OR tool = :tool) AND (:state IS NULL OR state = :state)
  AND id < :before_id
ORDER BY id DESC LIMIT :limit;

-- name: chains_due (now, gone, limit)
SELECT id, tenant, principal, session, name, ordinal, wish, wish_zh, plan, created_at, direction,
    reason, turned_at, stopped_at, due_at, owner
FROM chain
WHERE due_at IS NOT NULL
  AND (due_at <= :now
       OR (plan <> '' AND owner IN (SELECT jsonb_array_elements_text(:gone::jsonb))))
ORDER BY due_at, id LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED;

-- name: orphans
SELECT DISTINCT e.action_id FROM event AS e
WHERE NOT EXISTS (SELECT 1 FROM action WHERE id = e.action_id)
UNION
SELECT p.action_id FROM payload AS p WHERE NOT EXISTS (SELECT 1 FROM action WHERE id = p.action_id)
UNION
SELECT t.action_id FROM tombstone AS t WHERE NOT EXISTS (SELECT 1 FROM action WHERE id = t.action_id);

-- name: settle (schema, statement_ms, lock_ms, idle_ms)
-- A connection's settings. `off` would lose the last commits with the power; what is stronger stays.
-- Plans are made once, on tables that may still be empty: they must not read the whole of a table
-- that grows. And rows are locked in the order in which they are given.
SELECT set_config('search_path', :schema || ', pg_temp', false),
    set_config('statement_timeout', :statement_ms::text, false),
    set_config('lock_timeout', :lock_ms::text, false),
    set_config('idle_in_transaction_session_timeout', :idle_ms::text, false),
    set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
             ELSE current_setting('synchronous_commit') END, false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    set_config('jit', 'off', false),
    set_config('plan_cache_mode', 'force_generic_plan', false);

-- name: mark_session (lock)
-- Held as long as the connection lives at the server, which may be longer than here.
SELECT pg_advisory_lock(:lock);

-- name: end_session (lock)
-- The server's side of a connection that was lost may still be at work: end it.
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid <> pg_backend_pid()
  AND classid::bigint = :lock >> 32 AND objid::bigint = (:lock & 4294967295);

-- name: session_ended (lock)
-- Waits until it has.
SELECT pg_advisory_lock(:lock), pg_advisory_unlock(:lock);

-- name: write_as (schema, version)
-- Whoever writes says what it knows, for as long as its connection lives.
SELECT pg_advisory_lock_shared(hashtext('ascertain writes ' || :schema), :version::int);

-- name: older_writers (schema, version)
SELECT held.objid::bigint, held.pid, coalesce(who.application_name, '')
FROM pg_locks AS held LEFT JOIN pg_stat_activity AS who ON who.pid = held.pid
WHERE held.locktype = 'advisory' AND held.objsubid = 2 AND held.granted
  AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND held.classid::bigint = hashtext('ascertain writes ' || :schema)::bigint & 4294967295
  AND held.objid::bigint < :version
ORDER BY held.pid;

-- name: begin_migrating (schema)
SELECT pg_try_advisory_lock(hashtextextended('ascertain migrates ' || :schema, 0));

-- name: end_migrating (schema)
SELECT pg_advisory_unlock(hashtextextended('ascertain migrates ' || :schema, 0));

-- name: be_patient (lock_ms, statement_ms)
SELECT set_config('lock_timeout', :lock_ms::text, false),
    set_config('statement_timeout', :statement_ms::text, false);

-- name: half_made (schema)
-- Indexes that somebody was killed over.
SELECT quote_ident(c.relname) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = :schema AND NOT i.indisvalid;

-- name: long_transactions
SELECT pid, application_name, extract(epoch FROM clock_timestamp() - xact_start)::double precision
FROM pg_stat_activity
WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
ORDER BY xact_start LIMIT 3;

-- name: tables (schema)
SELECT tablename FROM pg_tables WHERE schemaname = :schema;

-- name: schema_there (schema)
SELECT 1 FROM pg_namespace WHERE nspname = :schema;

-- name: vitals (schema)
SELECT current_setting('synchronous_commit'), current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('block_size')::bigint,
    (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c
     JOIN pg_namespace AS s ON s.oid = c.relnamespace
     WHERE s.nspname = :schema AND c.relkind = 'r') / current_setting('block_size')::bigint;

-- name: small_commit
-- Forces a few bytes of the journal to the disk, and changes nothing.
SELECT pg_logical_emit_message(true, 'ascertain', 'how long does a commit take?');

-- name: move_to (schema)
-- For the rest of the transaction.
SELECT set_config('search_path', :schema || ', pg_temp', true);

-- name: catalog (schema)
-- Every part of a ledger by its name, and what it is.
SELECT 'column ' || table_name || '.' || column_name,
    ordinal_position || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(collation_name, '')
        || ' ' || coalesce(column_default, '')
FROM information_schema.columns WHERE table_schema = :schema
UNION ALL
SELECT 'index ' || indexname, replace(indexdef, :schema || '.', '')
FROM pg_indexes WHERE schemaname = :schema
UNION ALL
SELECT 'constraint ' || t.relname || '.' || c.conname,
    replace(pg_get_constraintdef(c.oid), ' NOT VALID', '')
FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid
JOIN pg_namespace AS s ON s.oid = c.connamespace WHERE s.nspname = :schema
UNION ALL
SELECT 'trigger ' || t.relname || '.' || g.tgname,
    replace(pg_get_triggerdef(g.oid), :schema || '.', '') || ' ' || g.tgenabled::text
FROM pg_trigger AS g JOIN pg_class AS t ON t.oid = g.tgrelid
JOIN pg_namespace AS s ON s.oid = t.relnamespace WHERE s.nspname = :schema AND NOT g.tgisinternal
UNION ALL
SELECT 'function ' || p.proname, p.prosrc
FROM pg_proc AS p JOIN pg_namespace AS s ON s.oid = p.pronamespace WHERE s.nspname = :schema;

-- name: whereabouts
-- Which history the server is in: the system's id, the timeline of its journal (null where it is a
-- standby), the last commit that it replayed before it began to take writes, and the time.
SELECT (SELECT system_identifier::text FROM pg_control_system()),
    CASE WHEN pg_is_in_recovery() THEN NULL
         ELSE ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint END,
    extract(epoch FROM pg_last_xact_replay_timestamp())::double precision,
    extract(epoch FROM clock_timestamp())::double precision;

-- name: epochs (limit)
SELECT id, n, system, timeline, why, began_at, kept_at, "by", missing, settled_at, settled_by
FROM epoch ORDER BY n DESC LIMIT :limit;

-- name: epoch_there (id)
SELECT 1 FROM epoch WHERE id = :id;

-- name: open_epoch (id, n, system, line, why, now, kept_at, by, missing)
-- Writes nothing where somebody else has just opened it.
INSERT INTO epoch (id, n, system, timeline, why, began_at, kept_at, "by", missing)
VALUES (:id, :n, :system, :line, :why, :now, :kept_at, :by, :missing)
ON CONFLICT DO NOTHING;

-- name: miss (id, missing)
UPDATE epoch SET missing = :missing WHERE id = :id AND missing = '';

-- name: settle_epoch (id, by, now)
UPDATE epoch SET settled_at = :now, settled_by = :by
WHERE id = :id AND settled_by = '' AND why <> 'first' RETURNING n;

-- name: stands_at (id, n)
SELECT 1 FROM action WHERE id = :id AND n >= :n;

-- name: session_of (tenant, id)
-- What was projected of it before the newest epoch of the ledger is served no more.
SELECT tenant, id, principal, version,
    greatest(epoch, (SELECT e.id FROM epoch AS e WHERE e.why <> 'first' ORDER BY e.n DESC LIMIT 1)),
    opened_at, seen_at, expires_at
FROM session WHERE tenant = :tenant AND id = :id;

-- name: await_news (id)
-- Somebody waits for news of it. That need not outlive the server, so nobody waits for the disk.
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
UPDATE action SET waited = 1 FROM quick WHERE id = :id AND waited IS NULL RETURNING 1;

-- name: tell_news (channel, ids)
-- After the commit, and by itself: transactions that notify are committed one at a time.
SELECT pg_notify(:channel, id), set_config('synchronous_commit', 'off', true)
FROM jsonb_array_elements_text(:ids::jsonb) AS id;

-- name: server_time
SELECT extract(epoch FROM clock_timestamp())::double precision;

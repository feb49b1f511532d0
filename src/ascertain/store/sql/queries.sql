-- The questions and verbs of a ledger, for every backend. What each has to say in its own way stands
-- in its own file.
--
-- A query is announced by its name and the order of its parameters. {action} stands for the columns of
-- an action, {moving} for those that may change after its birth, {open_pairs} for the query of that name. The text of {columns}, {values} and
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
INSERT INTO event
(action_id, n, start, event, "end", "by", reason, attempt, fence, at, detail, hash, stand, covers)
VALUES
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

-- name: hold_range (first_id, last_id)
-- Nobody else changes these actions until this transaction has ended.
SELECT id, n, head FROM action WHERE id >= :first_id AND id <= :last_id ORDER BY id;

-- name: records_in (first_id, last_id)
SELECT {action} FROM action WHERE id >= :first_id AND id <= :last_id ORDER BY id;

-- name: events_in (first_id, last_id)
SELECT action_id, n, start, event, "end", "by", reason, attempt, fence, at, detail, hash, stand, covers
FROM event WHERE action_id >= :first_id AND action_id <= :last_id ORDER BY action_id, n;

-- name: payloads_in (first_id, last_id)
SELECT action_id, what, salt, body FROM payload
WHERE action_id >= :first_id AND action_id <= :last_id;

-- name: by_call_id (session, tenant, call_id)
SELECT {action} FROM action WHERE session = :session AND tenant = :tenant AND call_id = :call_id;

-- name: by_intent (intent)
SELECT {action} FROM action WHERE intent = :intent ORDER BY id DESC;

-- name: seen_due (now, limit)
-- What is due and leased to nobody, longest due first; for those who only look.
SELECT {action} FROM action
WHERE due_at IS NOT NULL AND due_at <= :now AND (lease_until IS NULL OR lease_until <= :now)
ORDER BY due_at, id
LIMIT :limit;

-- name: lease (owner, until, fence, suspect, id)
UPDATE action SET lease_owner = :owner, lease_until = :until, due_at = :until, fence = :fence,
    suspect = :suspect
WHERE id = :id;

-- name: put_off (id, now, at)
-- It has its place in its provider's queue. A lease that holds on paper says by itself when it ends.
UPDATE action SET due_at = :at
WHERE id = :id AND due_at IS NOT NULL AND (lease_until IS NULL OR lease_until <= :now);

-- name: next_due
-- One step for each tenant and tool that has anything open.
WITH RECURSIVE head(tenant, tool, due_at) AS (
    SELECT tenant, tool, due_at FROM action
    WHERE id = (
        SELECT id FROM action WHERE due_at IS NOT NULL ORDER BY tenant, tool, due_at LIMIT 1
    )
    UNION ALL
    SELECT a.tenant, a.tool, a.due_at FROM head JOIN action a ON a.id = coalesce(
        (SELECT b.id FROM action b
         WHERE b.due_at IS NOT NULL AND b.tenant = head.tenant AND b.tool > head.tool
         ORDER BY b.tool, b.due_at LIMIT 1),
        (SELECT b.id FROM action b WHERE b.due_at IS NOT NULL AND b.tenant > head.tenant
         ORDER BY b.tenant, b.tool, b.due_at LIMIT 1)
    )
)
SELECT min(due_at) FROM head;

-- name: due_pairs (tenant, tool, now, limit)
-- Tenants and tools behind this pair that have something due, in the order of their names; one step
-- for each that has anything open.
WITH RECURSIVE head(tenant, tool, due_at) AS (
    SELECT tenant, tool, due_at FROM action
    WHERE id = (
        SELECT id FROM action WHERE due_at IS NOT NULL AND (tenant, tool) > (:tenant, :tool)
        ORDER BY tenant, tool, due_at LIMIT 1
    )
    UNION ALL
    SELECT a.tenant, a.tool, a.due_at FROM head JOIN action a ON a.id = coalesce(
        (SELECT b.id FROM action b
         WHERE b.due_at IS NOT NULL AND b.tenant = head.tenant AND b.tool > head.tool
         ORDER BY b.tool, b.due_at LIMIT 1),
        (SELECT b.id FROM action b WHERE b.due_at IS NOT NULL AND b.tenant > head.tenant
         ORDER BY b.tenant, b.tool, b.due_at LIMIT 1)
    )
)
SELECT tenant, tool FROM head WHERE due_at <= :now LIMIT :limit;

-- name: due_of (tenant, tool, now, limit, skip)
-- The oldest due actions of one tenant and tool.
SELECT {action} FROM action
WHERE tenant = :tenant AND tool = :tool AND due_at IS NOT NULL AND due_at <= :now
  AND (lease_until IS NULL OR lease_until <= :now)
ORDER BY due_at, id LIMIT :limit OFFSET :skip;

-- name: rate_usage (name)
-- Read before it is changed: where transactions run side by side, under a lock on the row.
SELECT usage FROM rate WHERE name = :name;

-- name: put_rate (name, most, window_s, usage)
INSERT INTO rate (name, most, window_s, usage) VALUES (:name, :most, :window_s, :usage)
ON CONFLICT (name) DO UPDATE SET most = excluded.most, window_s = excluded.window_s,
    usage = excluded.usage;

-- name: rates
SELECT name, most, window_s, usage FROM rate ORDER BY name;

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
SELECT count(review), count(*) FILTER (WHERE disputed = 1) FROM action
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
  AND (:review_only = 0 OR review IS NOT NULL OR disputed = 1)
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
SELECT n, head, stand, seal, buried_at, archive FROM tombstone WHERE action_id = :action_id;

-- name: ids_after (after_id, limit)
SELECT id FROM action WHERE id > :after_id ORDER BY id LIMIT :limit;

-- name: orphans
-- Events and payloads whose action is gone.
SELECT DISTINCT action_id FROM event WHERE action_id NOT IN (SELECT id FROM action)
UNION
SELECT action_id FROM payload WHERE action_id NOT IN (SELECT id FROM action)
UNION
SELECT action_id FROM tombstone WHERE action_id NOT IN (SELECT id FROM action);

-- name: closed (first_id, last_id, closed_before)
-- Those among these that are old: an action of a chain only once the whole chain has ended (until then
-- it may have to be undone), one of a session that remembers only once that has ended.
SELECT id FROM action AS candidate
WHERE id >= :first_id AND id <= :last_id
  AND updated_at < :closed_before AND (final = 1 OR state IN ('confirmed', 'compensated'))
  AND due_at IS NULL AND review IS NULL AND disputed = 0
  AND NOT EXISTS (SELECT 1 FROM tombstone WHERE action_id = candidate.id)
  AND NOT EXISTS (
    SELECT 1 FROM session AS s
    WHERE s.tenant = candidate.tenant AND s.id = candidate.session
      AND s.cleared_at IS NULL AND s.expires_at >= :closed_before
  )
  AND (chain = '' OR NOT EXISTS (
    SELECT 1 FROM member JOIN action AS other ON other.id = member.action_id
    WHERE member.chain = candidate.chain
      AND (other.updated_at >= :closed_before OR other.due_at IS NOT NULL OR other.review IS NOT NULL
        OR (other.final = 0 AND other.state NOT IN ('confirmed', 'compensated')))
    UNION ALL
    SELECT 1 FROM chain AS planned WHERE planned.id = candidate.chain AND planned.due_at IS NOT NULL
  ))
ORDER BY id;

-- name: bury_chain (id)
-- What says whose wish it was and with which arguments; its steps and its direction stay.
UPDATE chain SET principal = '', name = '', plan = '', reason = ''
WHERE id = :id AND NOT EXISTS (
    SELECT 1 FROM member WHERE member.chain = :id
      AND member.action_id NOT IN (SELECT action_id FROM tombstone)
);

-- name: bury_row (id)
UPDATE action SET principal = '', handle = NULL, lease_owner = NULL, lease_until = NULL,
    suspect = ''
WHERE id = :id;

-- name: bury_seal (action_id, n, head, stand, seal, buried_at, archive)
INSERT INTO tombstone (action_id, n, head, stand, seal, buried_at, archive)
VALUES (:action_id, :n, :head, :stand, :seal, :buried_at, :archive);

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
ON CONFLICT (owner) DO UPDATE SET at = excluded.at, ended_at = NULL;

-- name: end_beat (owner, at)
UPDATE heartbeat SET ended_at = :at WHERE owner = :owner;

-- name: beats
SELECT owner, at, ended_at FROM heartbeat ORDER BY at DESC, owner;

-- name: forget_beats (before)
DELETE FROM heartbeat WHERE at < :before;

-- name: last_beat
SELECT max(at) FROM heartbeat;

-- name: open_pairs
-- Every tenant and tool that has anything due or due later, in one step of the index for each.
WITH RECURSIVE head(tenant, tool) AS (
    SELECT tenant, tool FROM action
    WHERE id = (SELECT id FROM action WHERE due_at IS NOT NULL ORDER BY tenant, tool, due_at LIMIT 1)
    UNION ALL
    SELECT a.tenant, a.tool FROM head JOIN action a ON a.id = coalesce(
        (SELECT b.id FROM action b
         WHERE b.due_at IS NOT NULL AND b.tenant = head.tenant AND b.tool > head.tool
         ORDER BY b.tool, b.due_at LIMIT 1),
        (SELECT b.id FROM action b WHERE b.due_at IS NOT NULL AND b.tenant > head.tenant
         ORDER BY b.tenant, b.tool, b.due_at LIMIT 1)
    )
)
SELECT tenant, tool FROM head;

-- name: queue_due (now, most)
-- Of each tenant and tool: since when the oldest is due; of what is due, how many there are and how many
-- of them are leased all the same; of what is due later, how many there are, are leased, and are to be
-- counted. At most so many of each are read, from the index alone.
SELECT head.tool, (
        SELECT a.due_at FROM action AS a
        WHERE a.due_at IS NOT NULL AND a.tenant = head.tenant AND a.tool = head.tool
          AND a.due_at <= :now AND (a.lease_until IS NULL OR a.lease_until <= :now)
        ORDER BY a.due_at, a.id LIMIT 1
    ), (
        SELECT count(*) || ' ' || count(CASE WHEN due.lease_until > :now THEN 1 END) FROM (
            SELECT a.lease_until FROM action AS a
            WHERE a.due_at IS NOT NULL AND a.tenant = head.tenant AND a.tool = head.tool
              AND a.due_at <= :now
            ORDER BY a.due_at, a.id LIMIT :most
        ) AS due
    ), (
        SELECT count(*) || ' ' || count(CASE WHEN later.lease_until > :now THEN 1 END) || ' ' || count(CASE
            WHEN later.state IN ('confirmed', 'compensated')
                AND (later.lease_until IS NULL OR later.lease_until <= :now) THEN 1 END) FROM (
            SELECT a.lease_until, a.state FROM action AS a
            WHERE a.due_at IS NOT NULL AND a.tenant = head.tenant AND a.tool = head.tool
              AND a.due_at > :now
            ORDER BY a.due_at, a.id LIMIT :most
        ) AS later
    )
FROM ({open_pairs}) AS head;

-- name: queue_waiting (most)
-- By tool and mode, at most so many of each; one step of the index for each.
WITH RECURSIVE head(tool, mode) AS (
    SELECT tool, mode FROM action
    WHERE id = (
        SELECT id FROM action
        WHERE due_at IS NULL AND final = 0 AND state NOT IN ('confirmed', 'compensated')
        ORDER BY tool, mode LIMIT 1
    )
    UNION ALL
    SELECT a.tool, a.mode FROM head JOIN action AS a ON a.id = (
        SELECT b.id FROM action AS b
        WHERE b.due_at IS NULL AND b.final = 0 AND b.state NOT IN ('confirmed', 'compensated')
          AND (b.tool, b.mode) > (head.tool, head.mode)
        ORDER BY b.tool, b.mode LIMIT 1
    )
)
SELECT head.tool, (
        SELECT count(*) FROM (
            SELECT 1 FROM action AS a
            WHERE a.due_at IS NULL AND a.final = 0 AND a.state NOT IN ('confirmed', 'compensated')
              AND a.tool = head.tool AND a.mode = head.mode
            LIMIT :most
        ) AS few
    )
FROM head WHERE head.mode <> 'observe';

-- name: queue_review (most)
-- In the same way.
WITH RECURSIVE head(tool, mode) AS (
    SELECT tool, mode FROM action
    WHERE id = (
        SELECT id FROM action WHERE review IS NOT NULL OR disputed <> 0 ORDER BY tool, mode LIMIT 1
    )
    UNION ALL
    SELECT a.tool, a.mode FROM head JOIN action AS a ON a.id = (
        SELECT b.id FROM action AS b
        WHERE (b.review IS NOT NULL OR b.disputed <> 0)
          AND (b.tool, b.mode) > (head.tool, head.mode)
        ORDER BY b.tool, b.mode LIMIT 1
    )
)
SELECT head.tool, (
        SELECT count(*) FROM (
            SELECT 1 FROM action AS a
            WHERE (a.review IS NOT NULL OR a.disputed <> 0)
              AND (a.review IS NOT NULL OR a.disputed = 1)
              AND a.tool = head.tool AND a.mode = head.mode
            LIMIT :most
        ) AS few
    )
FROM head WHERE head.mode <> 'observe';

-- name: oldest_unknown
SELECT id, tool, first_sent_at, review FROM action
WHERE state = 'unknown' AND mode <> 'observe' AND first_sent_at IS NOT NULL
ORDER BY first_sent_at, id LIMIT 1;

-- name: put_tally (at, tool, what, n)
INSERT INTO tally (at, tool, what, n) VALUES (:at, :tool, :what, :n)
ON CONFLICT (at, tool, what) DO UPDATE SET n = tally.n + excluded.n;

-- name: tallies (since)
SELECT tool, what, sum(n) FROM tally WHERE at >= :since GROUP BY tool, what ORDER BY tool, what;

-- name: forget_tallies (before)
DELETE FROM tally WHERE at < :before;

-- name: insert_chain (id, tenant, principal, session, name, ordinal, wish, wish_zh, plan, created_at, direction, reason, turned_at, stopped_at, due_at, owner)
-- A step of a chain whose code is its plan says anew until when, and who is at work on it.
INSERT INTO chain (id, tenant, principal, session, name, ordinal, wish, wish_zh, plan,
    created_at, direction, reason, turned_at, stopped_at, due_at, owner)
VALUES (:id, :tenant, :principal, :session, :name, :ordinal, :wish, :wish_zh, :plan,
    :created_at, :direction, :reason, :turned_at, :stopped_at, :due_at, :owner)
ON CONFLICT (id) DO UPDATE SET due_at = excluded.due_at, owner = excluded.owner
WHERE chain.plan = '' AND chain.direction = 'forward' AND chain.stopped_at IS NULL
  AND excluded.due_at IS NOT NULL;

-- name: insert_member (chain, action_id, step, position, weight, after, undoes, kept)
INSERT INTO member (chain, action_id, step, position, weight, after, undoes, kept)
VALUES (:chain, :action_id, :step, :position, :weight, :after, :undoes, :kept)
ON CONFLICT DO NOTHING;

-- name: chain_by_id (id)
SELECT id, tenant, principal, session, name, ordinal, wish, wish_zh, plan, created_at, direction,
    reason, turned_at, stopped_at, due_at, owner
FROM chain WHERE id = :id;

-- name: chains_of_session (session, tenant)
SELECT id, tenant, principal, session, name, ordinal, wish, wish_zh, plan, created_at, direction,
    reason, turned_at, stopped_at, due_at, owner
FROM chain WHERE session = :session AND tenant = :tenant ORDER BY created_at, id;

-- name: chains_before (before, limit)
SELECT id, tenant, principal, session, name, ordinal, wish, wish_zh, plan, created_at, direction,
    reason, turned_at, stopped_at, due_at, owner
FROM chain WHERE created_at < :before ORDER BY created_at DESC, id LIMIT :limit;

-- name: member_of (chain, action_id)
SELECT chain, action_id, step, position, weight, after, undoes, kept FROM member
WHERE chain = :chain AND action_id = :action_id;

-- name: members_of (chain)
SELECT chain, action_id, step, position, weight, after, undoes, kept FROM member
WHERE chain = :chain ORDER BY position, action_id;

-- name: turn_chain (id, reason, at)
UPDATE chain SET direction = 'backward', reason = :reason, turned_at = :at
WHERE id = :id AND direction = 'forward';

-- name: stop_chain (id, reason, at)
UPDATE chain SET stopped_at = :at, due_at = NULL,
    reason = CASE WHEN reason = '' THEN :reason ELSE reason END
WHERE id = :id AND stopped_at IS NULL;

-- name: schedule_chain (id, at)
UPDATE chain SET due_at = :at WHERE id = :id;

-- name: own_chain (id, owner, until)
UPDATE chain SET owner = :owner, due_at = :until WHERE id = :id;

-- name: end_chain (id, at, left)
-- The code of a chain came to its end, or was left before it (until when it may be run again).
UPDATE chain SET due_at = :at, owner = '',
    reason = CASE WHEN :at IS NULL AND reason = :left THEN '' ELSE reason END
WHERE id = :id AND plan = '';

-- name: leave_chain (id, left)
UPDATE chain SET due_at = NULL, reason = :left WHERE id = :id;

-- name: chain_owners
SELECT DISTINCT owner FROM chain WHERE due_at IS NOT NULL AND plan <> '';

-- name: next_chain_due
SELECT min(due_at) FROM chain WHERE due_at IS NOT NULL;

-- name: keep_member (chain, action_id)
UPDATE member SET kept = 1 WHERE chain = :chain AND action_id = :action_id;

-- name: wake_all (chain, now)
-- When a chain turns or stops: everything in it that is not at its end is looked at once.
UPDATE action SET due_at = :now
WHERE id IN (SELECT action_id FROM member WHERE chain = :chain AND undoes = '')
  AND lease_owner IS NULL AND (due_at IS NULL OR due_at > :now)
  AND final = 0 AND state <> 'compensated';

-- name: wake_confirmed (chain, now)
-- Something moved in a chain that goes back: what waited for it may be undone now.
UPDATE action SET due_at = :now
WHERE id IN (SELECT action_id FROM member WHERE chain = :chain AND undoes = '' AND kept = 0)
  AND lease_owner IS NULL AND (due_at IS NULL OR due_at > :now)
  AND state = 'confirmed' AND review IS NULL;

-- name: wake_one (id, now)
UPDATE action SET due_at = :now
WHERE id = :id AND lease_owner IS NULL AND (due_at IS NULL OR due_at > :now)
  AND state IN ('confirmed', 'unknown');

-- name: actions_of_chain (chain)
SELECT {action} FROM action WHERE id IN (SELECT action_id FROM member WHERE chain = :chain)
ORDER BY id;
-- name: session_of (tenant, id)
SELECT tenant, id, principal, version, epoch, opened_at, seen_at, expires_at
FROM session WHERE tenant = :tenant AND id = :id;

-- name: open_session (tenant, id, principal, epoch, now, expires_at)
-- Or use it again: its life is prolonged once a minute, or a twentieth of it, and not by every call.
INSERT INTO session (tenant, id, principal, version, epoch, opened_at, seen_at, expires_at)
VALUES (:tenant, :id, :principal, 0, :epoch, :now, :now, :expires_at)
ON CONFLICT (tenant, id) DO UPDATE SET seen_at = excluded.seen_at,
    expires_at = CASE WHEN session.expires_at > excluded.seen_at AND excluded.expires_at > session.expires_at
                      THEN excluded.expires_at ELSE session.expires_at END
WHERE excluded.seen_at - session.seen_at >= CASE
    WHEN excluded.expires_at - excluded.seen_at < 1200 THEN (excluded.expires_at - excluded.seen_at) / 20
    ELSE 60 END;

-- name: next_version (tenant, id, count, bytes)
-- The last of so many new versions, and the most that the session's values may hold together by now.
UPDATE session SET version = version + :count, held = held + :bytes
WHERE tenant = :tenant AND id = :id RETURNING version, held;

-- name: session_holds (tenant, id)
-- Counts what the current values hold.
UPDATE session SET held = (
    SELECT coalesce(sum(c.bytes), 0) FROM context c
    WHERE c.tenant = :tenant AND c.session = :id AND c.superseded = 0
      AND c.version = (
        SELECT max(o.version) FROM context o
        WHERE o.tenant = c.tenant AND o.session = c.session AND o."key" = c."key" AND o.superseded = 0
      )
  )
WHERE tenant = :tenant AND id = :id;

-- name: context_now (tenant, session)
-- The current value of each key, and whether its writer was undone since.
SELECT c."key", c.version, c.value, c.why, c.writer, c.chain, c.superseded, c.began_at, c.at,
    CASE WHEN a.state = 'compensated' THEN 1 ELSE 0 END, coalesce(a.tool, '')
FROM context c LEFT JOIN action a ON a.id = c.writer
WHERE c.tenant = :tenant AND c.session = :session AND c.superseded = 0
  AND c.version = (
    SELECT max(o.version) FROM context o
    WHERE o.tenant = c.tenant AND o.session = c.session AND o."key" = c."key" AND o.superseded = 0
  )
ORDER BY c."key";

-- name: context_of (tenant, session)
-- Every value that is kept, oldest first.
SELECT c."key", c.version, c.value, c.why, c.writer, c.chain, c.superseded, c.began_at, c.at,
    CASE WHEN a.state = 'compensated' THEN 1 ELSE 0 END, coalesce(a.tool, '')
FROM context c LEFT JOIN action a ON a.id = c.writer
WHERE c.tenant = :tenant AND c.session = :session
ORDER BY c.version;

-- name: context_stand (tenant, session, key, version, action_id)
-- Whose the session is, and until when; the current version of a key, whether its writer was undone
-- since, and whether another action that is still open will bring what comes after that one.
SELECT s.principal, s.expires_at, c.version,
    coalesce((SELECT 1 FROM action a WHERE a.id = c.writer AND a.state = 'compensated'), 0),
    coalesce((
        SELECT 1 FROM pledge p JOIN action a ON a.id = p.action_id
        WHERE p.tenant = :tenant AND p.session = :session AND p."key" = :key
          AND p.action_id <> :action_id AND p.base >= :version
          AND a.state IN ('prepared', 'sent', 'unknown', 'rejected') AND a.final = 0
        LIMIT 1
    ), 0)
FROM session s LEFT JOIN context c
    ON c.tenant = s.tenant AND c.session = s.id AND c."key" = :key AND c.superseded = 0
WHERE s.tenant = :tenant AND s.id = :session
ORDER BY c.version DESC LIMIT 1;

-- name: context_bytes (tenant, session, key)
-- How much the current values of the other keys hold together.
SELECT coalesce(sum(c.bytes), 0) FROM context c
WHERE c.tenant = :tenant AND c.session = :session AND c."key" <> :key AND c.superseded = 0
  AND c.version = (
    SELECT max(o.version) FROM context o
    WHERE o.tenant = c.tenant AND o.session = c.session AND o."key" = c."key" AND o.superseded = 0
  );

-- name: put_context (tenant, session, key, version, value, why, writer, chain, base, began_at, at, bytes)
-- It comes late where one that is newer than the base counts. Gives whether it did, and how many older
-- ones are kept.
INSERT INTO context (tenant, session, "key", version, value, why, writer, chain, superseded, began_at, at, bytes)
VALUES (:tenant, :session, :key, :version, :value, :why, :writer, :chain, (
        SELECT count(*) FROM (
            SELECT 1 FROM context WHERE tenant = :tenant AND session = :session AND "key" = :key
              AND version > :base AND superseded = 0 LIMIT 1
        ) AS newer
    ), :began_at, :at, :bytes)
RETURNING superseded, (
    SELECT count(*) FROM context o
    WHERE o.tenant = context.tenant AND o.session = context.session AND o."key" = context."key"
      AND o.version < context.version
  );

-- name: forget_context (tenant, session, key, kept)
-- All but the newest ones, and the current value whatever its age.
DELETE FROM context
WHERE tenant = :tenant AND session = :session AND "key" = :key
  AND version <= (
    SELECT o.version FROM context o
    WHERE o.tenant = :tenant AND o.session = :session AND o."key" = :key
    ORDER BY o.version DESC LIMIT 1 OFFSET :kept
  )
  AND version <> (
    SELECT coalesce(max(o.version), 0) FROM context o
    WHERE o.tenant = :tenant AND o.session = :session AND o."key" = :key AND o.superseded = 0
  );

-- name: put_pledge (tenant, session, key, action_id)
INSERT INTO pledge (tenant, session, "key", action_id, base)
SELECT tenant, id, :key, :action_id, version FROM session WHERE tenant = :tenant AND id = :session
ON CONFLICT DO NOTHING;

-- name: drop_pledge (tenant, session, key, action_id)
DELETE FROM pledge
WHERE tenant = :tenant AND session = :session AND "key" = :key AND action_id = :action_id
RETURNING base;

-- name: pledges_of (tenant, session)
-- Pledges of actions that are still open.
SELECT c."key", c.action_id, c.base, a.state, a.final
FROM pledge c JOIN action a ON a.id = c.action_id
WHERE c.tenant = :tenant AND c.session = :session
  AND a.state IN ('prepared', 'sent', 'unknown', 'rejected') AND a.final = 0
ORDER BY c.base;

-- name: undone_of (tenant, session)
-- Whoever wrote something that is kept, and was undone since.
SELECT DISTINCT a.id FROM context c JOIN action a ON a.id = c.writer
WHERE c.tenant = :tenant AND c.session = :session AND a.state = 'compensated';

-- name: first_detail (action_id)
SELECT detail FROM event WHERE action_id = :action_id AND n = 1;

-- name: sessions_expired (before, limit)
SELECT tenant, id FROM session
WHERE cleared_at IS NULL AND expires_at <= :before ORDER BY expires_at LIMIT :limit;

-- name: session_open_actions (tenant, session)
SELECT count(*) FROM action
WHERE session = :session AND tenant = :tenant AND final = 0
  AND state NOT IN ('confirmed', 'compensated') AND mode <> 'observe';

-- name: clear_context (tenant, session)
DELETE FROM context WHERE tenant = :tenant AND session = :session;

-- name: clear_pledges (tenant, session)
DELETE FROM pledge WHERE tenant = :tenant AND session = :session;

-- name: session_cleared (tenant, id, now)
UPDATE session SET cleared_at = :now, held = 0 WHERE tenant = :tenant AND id = :id;

-- name: renew_session (tenant, id, principal, epoch, now, expires_at)
UPDATE session SET epoch = :epoch, version = version + 1, held = 0, opened_at = :now, seen_at = :now,
    expires_at = :expires_at, cleared_at = NULL
WHERE tenant = :tenant AND id = :id AND principal = :principal;
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
WHERE breaker.n = :before_n
RETURNING n;

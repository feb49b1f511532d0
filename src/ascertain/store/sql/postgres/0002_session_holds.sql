-- How much the current values of a session hold together at most. What is overwritten still counts
-- in it, until it comes to the limit and is counted anew; so a small value costs no counting.

ALTER TABLE session ADD COLUMN held bigint NOT NULL DEFAULT 0;

-- step
UPDATE session SET held = (
    SELECT coalesce(sum(bytes), 0) FROM context
    WHERE context.tenant = session.tenant AND context.session = session.id
);

-- Marks: our key, written in the transaction of the tool's own database.
--
-- One row per key. An attempt that takes effect sets done; a look-up that finds nothing raises the
-- fence to the attempts sent so far, after which none of them can take effect any more.

-- name: create_marks
CREATE TABLE IF NOT EXISTS ascertain_mark (
    key VARCHAR(200) NOT NULL PRIMARY KEY,
    done INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    ref VARCHAR(400)
);

-- name: mark (key, attempt, ref)
INSERT INTO ascertain_mark (key, done, fence, ref) VALUES (:key, 1, :attempt, :ref)
ON CONFLICT (key) DO UPDATE SET done = 1, fence = excluded.fence, ref = excluded.ref
WHERE ascertain_mark.done = 0 AND ascertain_mark.fence < excluded.fence;

-- name: fence (key, attempt)
INSERT INTO ascertain_mark (key, done, fence, ref) VALUES (:key, 0, :attempt, NULL)
ON CONFLICT (key) DO UPDATE SET fence = excluded.fence
WHERE ascertain_mark.done = 0 AND ascertain_mark.fence < excluded.fence;

-- name: mark_of (key)
SELECT done, ref FROM ascertain_mark WHERE key = :key;

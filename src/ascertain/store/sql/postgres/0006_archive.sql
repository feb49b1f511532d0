-- Where a buried action is kept, and since when; NULL: it is kept nowhere. Not under the tombstone's
-- seal: an archive proves itself, by a chain that ends in the tombstone's head.
--
-- oldest writer: 4

ALTER TABLE tombstone ADD COLUMN buried_at double precision;
ALTER TABLE tombstone ADD COLUMN archive text COLLATE "C";

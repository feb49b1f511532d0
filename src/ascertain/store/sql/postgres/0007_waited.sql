-- Whether somebody waits for news of an action. Whoever moves it sees that in the row which it
-- changes anyway, and rings once that is committed.
--
-- oldest writer: 4

ALTER TABLE action ADD COLUMN waited integer;

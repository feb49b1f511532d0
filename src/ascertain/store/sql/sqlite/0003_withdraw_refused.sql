-- A person may withdraw what was refused for a while: one more row of the transition table.

INSERT INTO rule (start, event, "end", unless_final) VALUES ('rejected', 'withdraw', 'rejected', 1)
ON CONFLICT (start, event, "end") DO NOTHING;

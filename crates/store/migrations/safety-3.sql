-- A call whose caller went away while its intent was written never ran: it is refused.
CREATE TABLE intents_3 (
    id TEXT PRIMARY KEY,
    process TEXT NOT NULL,
    caller TEXT NOT NULL,
    session TEXT,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    arguments TEXT NOT NULL,
    policy TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('open', 'done', 'failed', 'unknown', 'asked', 'refused'))
) STRICT, WITHOUT ROWID;
INSERT INTO intents_3 SELECT id, process, caller, session, tool, contract, arguments, policy, started_ms, outcome FROM intents;
DROP TABLE intents;
ALTER TABLE intents_3 RENAME TO intents;
CREATE INDEX intents_open ON intents (process) WHERE outcome = 'open';
CREATE INDEX intents_unknown ON intents (started_ms) WHERE outcome = 'unknown';

-- What stands before the first record that is kept: signed, where earlier records are kept elsewhere.
CREATE TABLE audit_base (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    link BLOB NOT NULL,
    signature BLOB NOT NULL
) STRICT;

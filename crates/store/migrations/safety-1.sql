CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    caller TEXT NOT NULL,
    session TEXT,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    arguments TEXT,
    policy TEXT NOT NULL,
    summary TEXT NOT NULL,
    issuer TEXT NOT NULL CHECK (issuer IN ('caller', 'operator')),
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'used', 'revoked'))
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_expiry ON tokens (expires_ms);

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    session TEXT,
    client TEXT,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    policy TEXT NOT NULL,
    arguments TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'allowed', 'denied', 'used')),
    decided_by TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_waiting ON approvals (state, expires_ms);

-- Answers that this server sealed and that have let a call pass.
CREATE TABLE burnt (
    nonce TEXT PRIMARY KEY,
    expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX burnt_by_expiry ON burnt (expires_ms);

CREATE TABLE intents (
    id TEXT PRIMARY KEY,
    process TEXT NOT NULL,
    caller TEXT NOT NULL,
    session TEXT,
    tool TEXT NOT NULL,
    contract TEXT NOT NULL,
    arguments TEXT NOT NULL,
    policy TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('open', 'done', 'failed', 'unknown', 'asked'))
) STRICT, WITHOUT ROWID;
CREATE INDEX intents_open ON intents (process) WHERE outcome = 'open';
CREATE INDEX intents_unknown ON intents (started_ms) WHERE outcome = 'unknown';

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    link BLOB NOT NULL
) STRICT;
CREATE TABLE audit_checkpoints (
    seq INTEGER PRIMARY KEY,
    link BLOB NOT NULL,
    signature BLOB NOT NULL
) STRICT;
CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    link BLOB NOT NULL,
    signature BLOB NOT NULL
) STRICT;

CREATE TABLE stops (
    scope TEXT PRIMARY KEY,
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE credentials (
    name TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    operator INTEGER NOT NULL,
    honours INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE profiles (
    principal TEXT PRIMARY KEY,
    enabled TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Grows with every change that other processes have to notice.
CREATE TABLE revision (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO revision (id, number) VALUES (1, 1);

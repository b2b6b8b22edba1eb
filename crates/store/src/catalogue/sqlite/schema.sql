CREATE TABLE catalogue_servers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    title TEXT,
    description TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
    status_message TEXT,
    status_changed_at TEXT NOT NULL,
    published_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    is_latest INTEGER NOT NULL,
    tool_count INTEGER NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (name, version)
) STRICT;
CREATE INDEX catalogue_servers_latest ON catalogue_servers (is_latest, status, name, version);
CREATE INDEX catalogue_servers_updated ON catalogue_servers (updated_at);

-- Apart from the servers: lists and searches never read past a document.
CREATE TABLE catalogue_documents (
    server INTEGER PRIMARY KEY REFERENCES catalogue_servers (id) ON DELETE CASCADE,
    document TEXT NOT NULL
) STRICT;

CREATE TABLE catalogue_tools (
    id INTEGER PRIMARY KEY,
    server INTEGER NOT NULL REFERENCES catalogue_servers (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    digest TEXT,
    read_only INTEGER NOT NULL,
    destructive INTEGER NOT NULL,
    has_output INTEGER NOT NULL,
    UNIQUE (server, name)
) STRICT;

CREATE VIRTUAL TABLE catalogue_words USING fts5 (
    name, words, description, parameters, server,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);

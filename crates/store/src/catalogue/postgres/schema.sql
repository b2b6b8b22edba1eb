-- Names are compared byte by byte, as SQLite does, whatever the database's language is.
CREATE TABLE catalogue_servers (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    title TEXT,
    description TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'deprecated', 'deleted')),
    status_message TEXT,
    status_changed_at TEXT COLLATE "C" NOT NULL,
    published_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    is_latest BOOLEAN NOT NULL,
    tool_count INTEGER NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (name, version)
);
CREATE INDEX catalogue_servers_latest ON catalogue_servers (is_latest, status, name, version);
CREATE INDEX catalogue_servers_updated ON catalogue_servers (updated_at);

-- Apart from the servers: lists and searches never read past a document.
CREATE TABLE catalogue_documents (
    server BIGINT PRIMARY KEY REFERENCES catalogue_servers (id) ON DELETE CASCADE,
    document TEXT NOT NULL
);

-- Porter's stemmer without stop words: the same words meet as in SQLite's index.
CREATE TEXT SEARCH DICTIONARY catalogue_stem (TEMPLATE = snowball, LANGUAGE = porter);
CREATE TEXT SEARCH CONFIGURATION catalogue_words (PARSER = default);
ALTER TEXT SEARCH CONFIGURATION catalogue_words
    ADD MAPPING FOR asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part, hword_numpart,
        int, uint, float, sfloat, version, email, url, url_path, host, file
    WITH catalogue_stem;

CREATE TABLE catalogue_tools (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    server BIGINT NOT NULL REFERENCES catalogue_servers (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    definition TEXT NOT NULL,
    digest TEXT,
    read_only BOOLEAN NOT NULL,
    destructive BOOLEAN NOT NULL,
    has_output BOOLEAN NOT NULL,
    words TSVECTOR NOT NULL,
    UNIQUE (server, name)
);
CREATE INDEX catalogue_tools_words ON catalogue_tools USING gin (words);

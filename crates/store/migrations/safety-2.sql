-- Under whom a waiting call is counted: its share, the address that anonymous sessions have in common, and the bytes of
-- its arguments. All of them stand in one index, so that counting reads no arguments.
ALTER TABLE approvals ADD COLUMN share TEXT;
ALTER TABLE approvals ADD COLUMN address TEXT;
ALTER TABLE approvals ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET share = caller, bytes = length(CAST(arguments AS BLOB));
CREATE INDEX approvals_counted ON approvals (expires_ms, share, address, bytes) WHERE state = 'pending';
CREATE INDEX approvals_same ON approvals (arguments_digest) WHERE state = 'pending';

-- When a stop ends by itself; absent: only an operator lifts it.
ALTER TABLE stops ADD COLUMN expires_ms INTEGER;

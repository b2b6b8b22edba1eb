-- Number of the change that wrote a profile: other processes read the profiles that are newer than those they have.
ALTER TABLE profiles ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX profiles_by_change ON profiles (changed);

-- Record that tells of the pruning which set the base; no row where the log was begun anew or never pruned.
CREATE TABLE audit_pruned (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL
) STRICT;

-- Matters that go on for a while, each changed only by who saw its last version.

CREATE TABLE record (
  collection TEXT NOT NULL,
  key TEXT NOT NULL,
  owner TEXT NOT NULL, -- what it belongs to, "" for nothing
  version INTEGER NOT NULL,
  due_at REAL, -- null: nothing is to be done about it
  data BLOB NOT NULL, -- JSON, compressed when long
  PRIMARY KEY (collection, key)
) WITHOUT ROWID;
CREATE INDEX record_owner ON record (collection, owner, key) WHERE owner <> '';
CREATE INDEX record_due ON record (collection, due_at) WHERE due_at IS NOT NULL;

-- Held claims, which are few; the table has a row for whatever was ever claimed.
CREATE INDEX claim_held ON claim (id) WHERE owner IS NOT NULL;

-- What holds corrections back and what is remembered of them, how old findings are, and what a sweep asks by.

-- A sweep knows things by the provider's id. The family is told by the name: an id is seldom used in two of them.
CREATE INDEX detail_provider_id ON detail (provider_id) WHERE provider_id IS NOT NULL;

-- The last good check without a finding, null if there was none; and how many checks in a row have seen it.
ALTER TABLE finding ADD COLUMN clean_at REAL;
ALTER TABLE finding ADD COLUMN times INTEGER NOT NULL DEFAULT 1;

-- Every write of ours. Kept after the resource is forgotten: it is history.
CREATE TABLE correction (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  resource INTEGER NOT NULL REFERENCES name (id),
  at REAL NOT NULL,
  action TEXT NOT NULL,
  reason TEXT NOT NULL,
  outcome TEXT NOT NULL,
  paths BLOB NOT NULL, -- path, before, after, took: JSON, compressed when long
  pre_image BLOB,
  post_image BLOB,
  undoes TEXT,
  who TEXT NOT NULL
);
CREATE INDEX correction_at ON correction (at);
CREATE INDEX correction_resource ON correction (resource, at);

-- What corrections took from buckets; `at` is the time of the correction when it was charged.
CREATE TABLE charge (
  correction INTEGER NOT NULL REFERENCES correction (number),
  bucket TEXT NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (correction, bucket)
) WITHOUT ROWID;
CREATE INDEX charge_bucket ON charge (bucket, at);

CREATE TABLE pause (
  scope TEXT PRIMARY KEY,
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  at REAL NOT NULL,
  until REAL -- null: until resumed
) WITHOUT ROWID;

CREATE TABLE approval (
  plan TEXT PRIMARY KEY,
  resource INTEGER NOT NULL REFERENCES name (id),
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  at REAL NOT NULL,
  used_at REAL
) WITHOUT ROWID;
CREATE INDEX approval_unused ON approval (resource) WHERE used_at IS NULL;

CREATE TABLE quarantine (
  resource INTEGER NOT NULL REFERENCES name (id),
  path TEXT NOT NULL,
  cause TEXT NOT NULL,
  since REAL NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (resource, path)
) WITHOUT ROWID;

CREATE TABLE acceptance (
  resource INTEGER NOT NULL REFERENCES name (id),
  path TEXT NOT NULL,
  value BLOB NOT NULL,
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (resource, path)
) WITHOUT ROWID;

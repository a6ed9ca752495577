-- The first schema. Integer keys, digests of 32 bytes and times in seconds since the epoch keep a million idle resources
-- small. The columns that every check changes (resource) are apart from those that change when something happened
-- (detail), so a check that finds nothing new rewrites some 50 bytes instead of 800.

-- Connections and kinds, of which there are few. Family 0 has the names that are not addresses.
CREATE TABLE family (
  id INTEGER PRIMARY KEY,
  connection TEXT NOT NULL,
  kind TEXT NOT NULL,
  UNIQUE (connection, kind)
);
INSERT INTO family (id, connection, kind) VALUES (0, '', '');

-- Every address there ever was, and every other subject of an event, once. Never deleted, so ids may be cached.
CREATE TABLE name (
  id INTEGER PRIMARY KEY,
  family INTEGER NOT NULL REFERENCES family (id),
  local TEXT NOT NULL, -- [namespace/]name
  UNIQUE (family, local)
);

CREATE TABLE resource (
  id INTEGER PRIMARY KEY REFERENCES name (id),
  status INTEGER, -- null: never checked
  failures INTEGER NOT NULL,
  due_at REAL,
  checked_at REAL,
  good_at REAL,
  mark INTEGER -- 64 bits of a hash of the detail, so that an equal one need not be written; null: not known
);
CREATE INDEX resource_due ON resource (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE detail (
  id INTEGER PRIMARY KEY, -- of the resource; a declared reference would cost a tenth of every write
  provider_id TEXT, -- the columns of a list scan come first
  raw_digest BLOB,
  resync_seconds REAL NOT NULL,
  etag TEXT,
  state_hash BLOB,
  generation INTEGER NOT NULL,
  applied_revision INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  settle_until REAL,
  desired BLOB,
  applied BLOB, -- empty: the same as desired
  baseline BLOB,
  known BLOB,
  observed BLOB, -- empty: the same as baseline
  rules BLOB,
  provider TEXT NOT NULL,
  source TEXT,
  reason TEXT NOT NULL,
  terminal TEXT,
  requested TEXT,
  handled TEXT,
  rest BLOB NOT NULL -- conditions, labels, options, depends_on: JSON, compressed when long
);

-- A list scan looks resources up by the provider's id; few ids occur in two families.
CREATE INDEX detail_provider_id ON detail (provider_id) WHERE provider_id IS NOT NULL;

-- Open requests, which are few: recording a check looks here before it moves a due time to a later one.
CREATE INDEX detail_requested ON detail (id) WHERE requested IS NOT handled;

CREATE TRIGGER detail_changed_in_part AFTER UPDATE ON detail
BEGIN
  UPDATE resource SET mark = NULL WHERE id = new.id;
END;

-- A resource as one row, as the store reads it.
CREATE VIEW state AS
SELECT
  resource.id, family.id AS family, family.connection, family.kind, name.local,
  status, failures, due_at, checked_at, good_at,
  provider_id, raw_digest, resync_seconds, etag, state_hash, generation, applied_revision, origin, settle_until,
  desired, applied, baseline, known, observed, rules, provider, source, reason, terminal, requested, handled, rest
FROM resource
JOIN name ON name.id = resource.id
JOIN family ON family.id = name.family
JOIN detail ON detail.id = resource.id;

-- Kept after release, and after the resource is forgotten, because no fence may be issued twice.
CREATE TABLE claim (
  id INTEGER PRIMARY KEY REFERENCES name (id),
  fence INTEGER NOT NULL,
  owner TEXT, -- null: released
  until REAL
);

-- Held claims, which are few; the table has a row for every resource that was ever claimed.
CREATE INDEX claim_held ON claim (id) WHERE owner IS NOT NULL;

CREATE TABLE document (
  digest BLOB PRIMARY KEY,
  body BLOB NOT NULL -- canonical JSON, compressed when that makes it smaller
);

CREATE TABLE finding (
  resource INTEGER NOT NULL REFERENCES name (id),
  ordinal INTEGER NOT NULL,
  path TEXT NOT NULL,
  op TEXT NOT NULL,
  first_seen REAL NOT NULL,
  last_seen REAL NOT NULL,
  clean_at REAL, -- the last good check without the finding; null: there was none
  times INTEGER NOT NULL, -- consecutive checks that saw it
  body BLOB NOT NULL,
  PRIMARY KEY (resource, ordinal)
) WITHOUT ROWID;

CREATE TABLE revision (
  resource INTEGER NOT NULL REFERENCES name (id),
  number INTEGER NOT NULL,
  document BLOB NOT NULL,
  stamp BLOB NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (resource, number)
) WITHOUT ROWID;

CREATE TABLE decision (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  resource INTEGER NOT NULL REFERENCES name (id),
  at REAL NOT NULL,
  action TEXT NOT NULL,
  inputs BLOB NOT NULL,
  output BLOB NOT NULL,
  summary TEXT NOT NULL
);
CREATE INDEX decision_resource ON decision (resource);

CREATE TABLE operation (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  resource INTEGER NOT NULL REFERENCES name (id),
  action TEXT NOT NULL,
  step TEXT NOT NULL,
  phase TEXT NOT NULL,
  started_at REAL NOT NULL,
  poll_at REAL,
  attempts INTEGER NOT NULL,
  desired BLOB,
  pre_image BLOB,
  decision TEXT,
  drift BLOB NOT NULL,
  token BLOB NOT NULL
);
CREATE INDEX operation_resource ON operation (resource);

-- The audit trail. `hash` covers the hash before it, so nothing can be changed without changing everything after.
CREATE TABLE event (
  sequence INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  type TEXT NOT NULL,
  subject INTEGER NOT NULL, -- a name
  data BLOB NOT NULL, -- canonical JSON, the very bytes that were hashed
  hash BLOB NOT NULL
);
CREATE INDEX event_subject ON event (subject);
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN
  SELECT RAISE(ABORT, 'the audit trail is append-only');
END;
CREATE TRIGGER event_is_never_removed BEFORE DELETE ON event
BEGIN
  SELECT RAISE(ABORT, 'the audit trail is append-only');
END;

-- The length and the last hash of the trail; without them a truncation could not be detected.
CREATE TABLE chain (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  length INTEGER NOT NULL,
  hash BLOB NOT NULL
);
INSERT INTO chain (id, length, hash) VALUES (1, 0, zeroblob(32));

-- Our writes; kept after the resource is forgotten.
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

-- Charges of corrections to budget buckets; `at` is the time of the correction when it was charged.
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

CREATE TABLE accepted_value (
  resource INTEGER NOT NULL REFERENCES name (id),
  path TEXT NOT NULL,
  value BLOB NOT NULL,
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (resource, path)
) WITHOUT ROWID;

-- Records that are updated by compare-and-swap on their version.
CREATE TABLE record (
  collection TEXT NOT NULL,
  key TEXT NOT NULL,
  owner TEXT NOT NULL, -- the record it belongs to, "" for none
  version INTEGER NOT NULL,
  due_at REAL, -- null: never
  data BLOB NOT NULL, -- JSON, compressed when long
  PRIMARY KEY (collection, key)
) WITHOUT ROWID;
CREATE INDEX record_owner ON record (collection, owner, key) WHERE owner <> '';
CREATE INDEX record_due ON record (collection, due_at) WHERE due_at IS NOT NULL;

-- The index of manifests: what each file declared when it was last read. A cache: every row may be deleted.
CREATE TABLE manifest (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, because a run may still use a replaced row
  path TEXT UNIQUE, -- null: replaced by another row
  status TEXT NOT NULL, -- size, times, inode and device
  digest BLOB NOT NULL, -- keyed
  version BLOB NOT NULL, -- of the front end and of the connections
  indexed_at REAL NOT NULL,
  form TEXT NOT NULL,
  entries INTEGER NOT NULL,
  others BLOB NOT NULL,
  replaced_at REAL
);
CREATE INDEX manifest_replaced ON manifest (replaced_at) WHERE replaced_at IS NOT NULL;

CREATE TABLE manifest_entry (
  address TEXT NOT NULL,
  manifest INTEGER NOT NULL,
  name TEXT NOT NULL,
  identity BLOB, -- keyed
  has_secrets INTEGER NOT NULL,
  head BLOB NOT NULL, -- JSON without values of the document
  links BLOB, -- JSON: references
  seal BLOB NOT NULL, -- keyed digest of the columns above
  document BLOB, -- null: the store did not have the document in clear
  body BLOB, -- the document as written, compressed when long
  PRIMARY KEY (address, manifest)
) WITHOUT ROWID;
CREATE INDEX manifest_entry_file ON manifest_entry (manifest);
CREATE INDEX manifest_entry_name ON manifest_entry (name);
CREATE INDEX manifest_entry_linked ON manifest_entry (address, manifest) WHERE links IS NOT NULL;
CREATE INDEX manifest_entry_secret ON manifest_entry (address, manifest) WHERE has_secrets;

-- Sets of files that were found to fit together, and what their references mean.
CREATE TABLE manifest_set (
  key BLOB PRIMARY KEY,
  at REAL NOT NULL,
  summary TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE manifest_binding (
  key BLOB NOT NULL,
  address TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (key, address)
) WITHOUT ROWID;

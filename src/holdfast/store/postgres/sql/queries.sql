-- Every statement the PostgreSQL store runs, by name. `:name` is a parameter, numbered in the order of appearance.
-- `@addresses` stands for the ids of the addresses in three lists: connections, kinds and names within their kind.

-- name: lock_store
-- Lock out migrations, retention and archiving until the end of the transaction.
SELECT pg_advisory_xact_lock_shared(:store, 0)

-- name: lock_keys
-- Lock the records, buckets and ids that a transaction writes, in order.
SELECT pg_advisory_xact_lock(:store, key) FROM unnest(:keys::integer[]) AS key

-- name: lock_names
-- Lock the resources that a transaction writes, in order.
SELECT id FROM name WHERE id = ANY(:ids::bigint[]) ORDER BY id FOR NO KEY UPDATE

-- name: version
-- The schema of the store.
SELECT version FROM holdfast_store

-- name: clock
-- The time of the database.
SELECT extract(epoch FROM clock_timestamp())::double precision

-- name: find_family
-- The id of a connection and kind.
SELECT id FROM family WHERE connection = :connection AND kind = :kind

-- name: add_family
-- A connection and kind met for the first time.
INSERT INTO family (connection, kind) VALUES (:connection, :kind) ON CONFLICT DO NOTHING

-- name: families
-- All connections and kinds of addresses, in address order.
SELECT id, connection, kind FROM family WHERE id > 0 ORDER BY connection, kind

-- name: find_names
-- The ids of names within their families.
SELECT wanted.number - 1, name.id
FROM unnest(:families::bigint[], :locals::text[]) WITH ORDINALITY AS wanted (family, local, number)
JOIN name ON name.family = wanted.family AND name.local = wanted.local

-- name: add_names
-- Names met for the first time, in order.
INSERT INTO name (family, local)
SELECT family, local FROM unnest(:families::bigint[], :locals::text[]) AS new (family, local) ORDER BY family, local
ON CONFLICT DO NOTHING

-- name: stored_columns
-- The columns of these resources that a state which was read earlier must not set back.
SELECT resource.id, applied_revision, requested, handled, due_at, mark
FROM resource JOIN detail ON detail.id = resource.id WHERE resource.id = ANY(:ids::bigint[])

-- name: reschedule
-- Change a due time.
UPDATE resource SET due_at = :due_at WHERE id = :id

-- name: request
-- Request a check.
UPDATE detail SET requested = :token WHERE id = :id

-- name: relink
-- Change the provider's id of a resource.
UPDATE detail SET provider_id = :provider_id WHERE id = :id

-- name: outdate
-- Drop the tags of the last reading, so that nothing is taken as unchanged.
UPDATE detail SET etag = NULL, raw_digest = NULL WHERE id = :id

-- name: move_forward
-- Make a resource due at a time, unless it is due earlier.
UPDATE resource SET due_at = least(due_at, :due_at) WHERE id = :id

-- name: set_back
-- Drop the time of the last check, which the clock has not reached yet.
UPDATE resource SET checked_at = NULL, due_at = :due_at WHERE id = :id

-- name: rests
-- The part of the details of resources that holds their conditions, and what decides whether it may be changed.
SELECT id, applied_revision, requested IS DISTINCT FROM handled, rest FROM detail WHERE id = ANY(:ids::bigint[])

-- name: withdraw_status
-- Make a status unknown.
UPDATE resource SET
  status = :status, checked_at = coalesce(:checked_at, checked_at), due_at = CASE WHEN :is_due THEN due_at END
WHERE id = :id

-- name: withdraw_reason
-- The reason and the conditions of an unknown status.
UPDATE detail SET reason = :reason, rest = :rest WHERE id = :id

-- name: clear_marks
-- Note that the details of these resources were changed in part.
UPDATE resource SET mark = NULL WHERE id = ANY(:ids::bigint[]) AND mark IS NOT NULL

-- name: put_resource
-- Replace the columns that every check changes.
INSERT INTO resource (id, status, failures, due_at, checked_at, good_at, mark)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET
  status = excluded.status, failures = excluded.failures, due_at = excluded.due_at,
  checked_at = excluded.checked_at, good_at = excluded.good_at, mark = excluded.mark

-- name: put_detail
-- Replace the other columns of a resource.
INSERT INTO detail (
  id, provider_id, raw_digest, resync_seconds, etag, state_hash, generation, applied_revision, origin, settle_until,
  desired, applied, baseline, known, observed, rules, provider, source, reason, terminal, requested, handled, rest
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
ON CONFLICT (id) DO UPDATE SET
  provider_id = excluded.provider_id, raw_digest = excluded.raw_digest, resync_seconds = excluded.resync_seconds,
  etag = excluded.etag, state_hash = excluded.state_hash, generation = excluded.generation,
  applied_revision = excluded.applied_revision, origin = excluded.origin, settle_until = excluded.settle_until,
  desired = excluded.desired, applied = excluded.applied, baseline = excluded.baseline, known = excluded.known,
  observed = excluded.observed, rules = excluded.rules, provider = excluded.provider, source = excluded.source,
  reason = excluded.reason, terminal = excluded.terminal, requested = excluded.requested, handled = excluded.handled,
  rest = excluded.rest

-- name: put_unchanged
-- Record the times of a check that found nothing new; a requested check is not moved to a later time.
UPDATE resource SET
  checked_at = $1, good_at = $1, failures = 0,
  due_at = CASE
    WHEN (SELECT requested IS DISTINCT FROM handled FROM detail WHERE detail.id = resource.id) THEN least(due_at, $2)
    ELSE $2
  END
WHERE id = $3

-- name: put_tags
-- Record the tags of the last answer, if there are any and they are new.
UPDATE detail SET etag = coalesce(:etag, etag), raw_digest = coalesce(:raw_digest, raw_digest)
WHERE id = :id AND (
  etag IS DISTINCT FROM coalesce(:etag, etag) OR raw_digest IS DISTINCT FROM coalesce(:raw_digest, raw_digest)
)

-- name: forget_detail
-- Forget resources, first half.
DELETE FROM detail WHERE id = ANY(:ids::bigint[])

-- name: forget_resource
-- Forget resources, second half; their names, claims, decisions and events stay.
DELETE FROM resource WHERE id = ANY(:ids::bigint[])

-- name: forget_revisions
-- Forget the revisions of resources; if one is declared again, they start from 1.
DELETE FROM revision WHERE resource = ANY(:ids::bigint[])

-- name: states
-- Many resources.
SELECT * FROM state WHERE id IN (@addresses)

-- name: states_with_ids
-- The resources of a connection and kind among these ids of the provider.
SELECT * FROM state
WHERE family = (SELECT family.id FROM family WHERE connection = :connection AND kind = :kind)
  AND id IN (SELECT detail.id FROM detail WHERE provider_id = ANY(:ids::text[]))

-- name: states_page
-- The next resources of a family, in order.
SELECT * FROM state WHERE family = :family AND local > :after ORDER BY local LIMIT :limit

-- name: sources_page
-- The next resources of a family, in order, and where they were declared.
SELECT local, source FROM name JOIN detail ON detail.id = name.id
WHERE family = :family AND local > :after ORDER BY local LIMIT :limit

-- name: listed_digests
-- What a list is compared with: the digests of these resources, none for those that are not idle (`is_idle`).
SELECT provider_id,
  CASE
    WHEN status = 1 AND (applied = ''::bytea OR applied = desired) AND baseline IS NOT NULL
      AND requested IS NOT DISTINCT FROM handled AND terminal IS NULL
    THEN raw_digest
  END
FROM detail JOIN resource ON resource.id = detail.id
WHERE detail.id IN (@addresses) AND provider_id IS NOT NULL

-- name: declaring_files
-- The files of declarations, with the earliest last check of what they declare, without the resources of one status.
SELECT rtrim(source, '0123456789') AS place, min(coalesce(checked_at, 0.0))
FROM detail JOIN resource ON resource.id = detail.id
WHERE source IS NOT NULL AND status IS DISTINCT FROM :status GROUP BY place

-- name: unchanged
-- The scheduled resources of a kind among these ids that are idle, in the meaning of `is_idle`.
SELECT local, provider_id, raw_digest, resync_seconds
FROM detail JOIN name ON name.id = detail.id JOIN resource ON resource.id = detail.id
JOIN family ON family.id = name.family
WHERE connection = :connection AND kind = :kind AND provider_id = ANY(:provider_ids::text[])
  AND status = 1 AND due_at IS NOT NULL AND (applied = ''::bytea OR applied = desired) AND baseline IS NOT NULL
  AND requested IS NOT DISTINCT FROM handled AND terminal IS NULL

-- name: unchecked_page
-- The next scheduled resources of a family, in order, that were not checked between two times.
SELECT local FROM name JOIN resource ON resource.id = name.id
WHERE family = :family AND local > :after AND due_at IS NOT NULL
  AND (checked_at IS NULL OR checked_at NOT BETWEEN :since AND :until)
ORDER BY local LIMIT :limit

-- name: due
-- Due resources without a claim, the longest overdue first.
SELECT state.* FROM state
LEFT JOIN claim ON claim.id = state.id AND claim.owner IS NOT NULL AND claim.until > :now
WHERE due_at <= :now AND claim.id IS NULL AND connection <> ALL(:without::text[])
ORDER BY due_at LIMIT :limit

-- name: next_due
-- The earliest due time.
SELECT min(due_at) FROM resource WHERE due_at IS NOT NULL

-- name: next_due_without
-- The earliest due time, without some connections.
SELECT due_at FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE due_at IS NOT NULL AND connection <> ALL(:without::text[]) ORDER BY due_at LIMIT 1

-- name: checked_in_future
-- Scheduled resources whose last check is after a time.
SELECT connection, kind, local FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE due_at IS NOT NULL AND checked_at > :now LIMIT :limit

-- name: count_statuses
-- The number of resources by status, and of those that are overdue or were checked in the future.
SELECT status, count(*),
  count(*) FILTER (WHERE due_at <= :now OR (due_at IS NOT NULL AND checked_at > :soon))
FROM resource GROUP BY status

-- name: count_resources
-- The number of resources by connection and kind.
SELECT connection, kind, count(*) FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
GROUP BY family.id

-- name: addresses_with_status
-- The resources with a status.
SELECT connection, kind, local FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE status = :status ORDER BY connection, kind, local

-- name: fences
-- The fences of these resources.
SELECT id, fence FROM claim WHERE id = ANY(:ids::bigint[])

-- name: take_claim
-- Claim a resource for an owner unless another one holds it. The resource is locked.
INSERT INTO claim AS stored (id, fence, owner, until) VALUES (:id, 1, :owner, :until)
ON CONFLICT (id) DO UPDATE SET fence = stored.fence + 1, owner = excluded.owner, until = excluded.until
WHERE stored.owner IS NULL OR stored.until <= :now
RETURNING fence, coalesce((SELECT applied_revision FROM detail WHERE detail.id = stored.id), 0)

-- name: renew_claim
-- Prolong a claim, unless another owner took it.
UPDATE claim SET until = :until WHERE id = :id AND fence = :fence AND owner = :owner RETURNING id

-- name: release_claim
-- Release a claim, unless another owner took it; the fence stays.
UPDATE claim SET owner = NULL, until = NULL WHERE id = :id AND fence = :fence AND owner = :owner RETURNING id

-- name: claims
-- All held claims.
SELECT connection, kind, local, owner, fence, until
FROM claim JOIN name ON name.id = claim.id JOIN family ON family.id = name.family WHERE owner IS NOT NULL

-- name: known_documents
-- The digests among these that are stored.
SELECT digest FROM document WHERE digest = ANY(:digests::bytea[])

-- name: add_documents
-- Store documents once, in order.
INSERT INTO document (digest, body)
SELECT digest, body FROM unnest(:digests::bytea[], :bodies::bytea[]) AS new (digest, body) ORDER BY digest
ON CONFLICT DO NOTHING

-- name: documents
-- Many documents by digest.
SELECT digest, body FROM document WHERE digest = ANY(:digests::bytea[])

-- name: good_times
-- The last successful checks of these resources.
SELECT id, good_at FROM resource WHERE id = ANY(:ids::bigint[])

-- name: ages
-- The ages of the open findings of these resources.
SELECT resource, path, op, first_seen, clean_at, times FROM finding WHERE resource = ANY(:ids::bigint[])
ORDER BY resource, ordinal

-- name: remove_findings
-- All findings of these resources.
DELETE FROM finding WHERE resource = ANY(:ids::bigint[])

-- name: add_finding
-- One finding of a resource.
INSERT INTO finding (resource, ordinal, path, op, first_seen, last_seen, clean_at, times, body)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: findings
-- All open findings, in address order.
SELECT connection, kind, local, first_seen, last_seen, clean_at, times, body
FROM finding JOIN name ON name.id = resource JOIN family ON family.id = name.family
ORDER BY connection, kind, local, ordinal

-- name: findings_of
-- The open findings of these resources.
SELECT connection, kind, local, first_seen, last_seen, clean_at, times, body
FROM finding JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (@addresses) ORDER BY resource, ordinal

-- name: stored_revisions
-- Revisions by resource and number.
SELECT resource, number, document, stamp FROM revision
JOIN unnest(:ids::bigint[], :numbers::bigint[]) AS wanted (wanted_resource, wanted_number)
  ON resource = wanted_resource AND number = wanted_number

-- name: add_revision
-- A new revision.
INSERT INTO revision (resource, number, document, stamp, at) VALUES ($1, $2, $3, $4, $5)

-- name: prune_revisions
-- Delete old revisions.
DELETE FROM revision WHERE resource = :id AND number <= :oldest

-- name: revisions
-- The revisions of a resource, newest first.
SELECT number, document, stamp, at FROM revision WHERE resource IN (@addresses) ORDER BY number DESC

-- name: add_decision
-- A new decision.
INSERT INTO decision (id, resource, at, action, inputs, output, summary) VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: decision
-- Many decisions.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE decision.id = ANY(:ids::text[])

-- name: last_decisions
-- The last decision on each of these resources.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE decision.number IN (
  SELECT (SELECT max(number) FROM decision WHERE resource = wanted) FROM unnest(:ids::bigint[]) AS wanted
)

-- name: decisions
-- All decisions, newest first.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family
ORDER BY number DESC LIMIT :limit

-- name: decisions_of
-- The decisions on one resource, newest first.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (@addresses) ORDER BY number DESC LIMIT :limit

-- name: put_operation
-- Insert or update a write in flight.
INSERT INTO operation (
  id, resource, action, step, phase, started_at, poll_at, attempts, desired, pre_image, decision, drift, token
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id) DO UPDATE SET
  resource = excluded.resource, action = excluded.action, step = excluded.step, phase = excluded.phase,
  started_at = excluded.started_at, poll_at = excluded.poll_at, attempts = excluded.attempts,
  desired = excluded.desired, pre_image = excluded.pre_image, decision = excluded.decision, drift = excluded.drift,
  token = excluded.token

-- name: remove_operations
-- Delete finished writes.
DELETE FROM operation WHERE id = ANY(:ids::text[])

-- name: operations
-- All writes in flight, oldest first.
SELECT operation.id, connection, kind, local, action, step, phase, started_at, poll_at, attempts, desired, pre_image,
  decision, drift, token
FROM operation JOIN name ON name.id = resource JOIN family ON family.id = name.family ORDER BY started_at, number

-- name: operations_of
-- The writes in flight on one resource, oldest first.
SELECT operation.id, connection, kind, local, action, step, phase, started_at, poll_at, attempts, desired, pre_image,
  decision, drift, token
FROM operation JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (@addresses) ORDER BY started_at, number

-- name: put_correction
-- Insert or update a correction.
INSERT INTO correction (
  id, resource, at, action, reason, outcome, paths, pre_image, post_image, undoes, who
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO UPDATE SET
  resource = excluded.resource, at = excluded.at, action = excluded.action, reason = excluded.reason,
  outcome = excluded.outcome, paths = excluded.paths, pre_image = excluded.pre_image,
  post_image = excluded.post_image, undoes = excluded.undoes, who = excluded.who

-- name: correction
-- One correction.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE correction.id = :id

-- name: corrections
-- All corrections since a time, newest first.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE at >= :since ORDER BY at DESC, number DESC LIMIT :limit

-- name: reverts
-- The corrections of drift, conflict or absence since a time that were not refused, newest first.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE at >= :since AND reason IN ('drift', 'missing', 'conflict') AND outcome <> 'failed'
ORDER BY at DESC, number DESC

-- name: corrections_of
-- The corrections of these resources since a time, newest first.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (@addresses) AND at >= :since ORDER BY at DESC, number DESC LIMIT :limit

-- name: chargeable
-- The numbers and times of corrections.
SELECT id, number, at FROM correction WHERE id = ANY(:ids::text[])

-- name: charged
-- The buckets that corrections were charged to.
SELECT correction, bucket FROM charge WHERE correction = ANY(:corrections::bigint[])

-- name: count_charges
-- The number of charges of each bucket since its time.
SELECT (SELECT count(*) FROM charge WHERE charge.bucket = wanted.bucket AND at >= since)
FROM unnest(:buckets::text[], :times::double precision[]) WITH ORDINALITY AS wanted (bucket, since, number)
ORDER BY number

-- name: add_charge
-- Charge a bucket.
INSERT INTO charge (correction, bucket, at) VALUES ($1, $2, $3)

-- name: put_pause
-- Pause a scope, or update its pause.
INSERT INTO pause (scope, who, why, at, until) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (scope) DO UPDATE SET who = excluded.who, why = excluded.why, at = excluded.at, until = excluded.until

-- name: remove_pauses
-- Resume scopes.
DELETE FROM pause WHERE scope = ANY(:scopes::text[])

-- name: pauses
-- All pauses, in order.
SELECT scope, who, why, at, until FROM pause ORDER BY scope

-- name: put_approval
-- Insert an approval, or record its use.
INSERT INTO approval (plan, resource, who, why, at, used_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (plan) DO UPDATE SET
  resource = excluded.resource, who = excluded.who, why = excluded.why, at = excluded.at, used_at = excluded.used_at

-- name: forget_approvals
-- Delete the unused approvals of resources; used ones are history.
DELETE FROM approval WHERE resource = ANY(:ids::bigint[]) AND used_at IS NULL

-- name: approvals
-- All unused approvals.
SELECT connection, kind, local, plan, who, why, at, used_at
FROM approval JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE used_at IS NULL

-- name: approvals_of
-- The unused approvals of these resources.
SELECT connection, kind, local, plan, who, why, at, used_at
FROM approval JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (@addresses) AND used_at IS NULL

-- name: put_quarantine
-- Quarantine a path.
INSERT INTO quarantine (resource, path, cause, since, data) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (resource, path) DO UPDATE SET
  cause = excluded.cause, since = excluded.since, data = excluded.data

-- name: remove_quarantine
-- End the quarantine of a path.
DELETE FROM quarantine WHERE resource = $1 AND path = $2

-- name: forget_quarantines
-- All quarantines of resources.
DELETE FROM quarantine WHERE resource = ANY(:ids::bigint[])

-- name: quarantines
-- All quarantines.
SELECT connection, kind, local, path, cause, since, data
FROM quarantine JOIN name ON name.id = resource JOIN family ON family.id = name.family

-- name: quarantines_of
-- The quarantines of these resources.
SELECT connection, kind, local, path, cause, since, data
FROM quarantine JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE resource IN (@addresses)

-- name: put_accepted_value
-- Accept a live value as baseline.
INSERT INTO accepted_value (resource, path, value, who, why, at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (resource, path) DO UPDATE SET
  value = excluded.value, who = excluded.who, why = excluded.why, at = excluded.at

-- name: remove_accepted_value
-- Delete an accepted value.
DELETE FROM accepted_value WHERE resource = $1 AND path = $2

-- name: forget_accepted_values
-- All accepted values of resources.
DELETE FROM accepted_value WHERE resource = ANY(:ids::bigint[])

-- name: accepted_values
-- All accepted values.
SELECT connection, kind, local, path, value, who, why, at
FROM accepted_value JOIN name ON name.id = resource JOIN family ON family.id = name.family

-- name: accepted_values_of
-- The accepted values of these resources.
SELECT connection, kind, local, path, value, who, why, at
FROM accepted_value JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (@addresses)

-- name: lock_chain
-- The recorded end of the audit trail, locked until the end of the transaction.
SELECT length, hash FROM chain FOR UPDATE

-- name: head
-- The recorded end of the audit trail, and the actual last event.
SELECT length, hash, (SELECT max(sequence) FROM event) FROM chain

-- name: set_head
-- Record the end of the audit trail.
UPDATE chain SET length = :length, hash = :hash

-- name: add_event
-- Append an event to the audit trail.
INSERT INTO event (sequence, at, type, subject, data, hash) VALUES ($1, $2, $3, $4, $5, $6)

-- name: hash_of_event
-- The hash of one event.
SELECT hash FROM event WHERE sequence = :sequence

-- name: events_page
-- The next events in order, with the hash each builds on.
SELECT event.sequence, event.at, event.type, family.id, family.connection, family.kind, name.local, event.data,
  event.hash, before.hash
FROM event
LEFT JOIN name ON name.id = event.subject
LEFT JOIN family ON family.id = name.family
LEFT JOIN event AS before ON before.sequence = event.sequence - 1
WHERE event.sequence > :after AND event.sequence <= :last
  AND event.at >= :since AND starts_with(event.type, :prefix)
ORDER BY event.sequence LIMIT :limit

-- name: events_page_of
-- The same for one subject.
SELECT event.sequence, event.at, event.type, family.id, family.connection, family.kind, name.local, event.data,
  event.hash, before.hash
FROM event
LEFT JOIN name ON name.id = event.subject
LEFT JOIN family ON family.id = name.family
LEFT JOIN event AS before ON before.sequence = event.sequence - 1
WHERE event.subject = :subject AND event.sequence > :after AND event.sequence <= :last
  AND event.at >= :since AND starts_with(event.type, :prefix)
ORDER BY event.sequence LIMIT :limit

-- name: events_page_back
-- The events before one, the latest first, with the hash each builds on.
SELECT event.sequence, event.at, event.type, family.id, family.connection, family.kind, name.local, event.data,
  event.hash, before.hash
FROM event
LEFT JOIN name ON name.id = event.subject
LEFT JOIN family ON family.id = name.family
LEFT JOIN event AS before ON before.sequence = event.sequence - 1
WHERE event.sequence < :before
ORDER BY event.sequence DESC LIMIT :limit

-- name: events_page_back_of
-- The same for one subject.
SELECT event.sequence, event.at, event.type, family.id, family.connection, family.kind, name.local, event.data,
  event.hash, before.hash
FROM event
LEFT JOIN name ON name.id = event.subject
LEFT JOIN family ON family.id = name.family
LEFT JOIN event AS before ON before.sequence = event.sequence - 1
WHERE event.subject = :subject AND event.sequence < :before
ORDER BY event.sequence DESC LIMIT :limit

-- name: versions_of_records
-- The stored versions of records.
SELECT record.collection, record.key, version FROM record
JOIN unnest(:collections::text[], :keys::text[]) AS wanted (collection, key)
  ON record.collection = wanted.collection AND record.key = wanted.key

-- name: put_record
-- Store the next version of a record.
INSERT INTO record (collection, key, owner, version, due_at, data) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (collection, key) DO UPDATE SET
  owner = excluded.owner, version = excluded.version, due_at = excluded.due_at, data = excluded.data

-- name: remove_record
-- Delete a record.
DELETE FROM record WHERE collection = $1 AND key = $2

-- name: record
-- One record.
SELECT collection, key, owner, version, due_at, data FROM record WHERE collection = :collection AND key = :key

-- name: records_page
-- The next records of a collection.
SELECT collection, key, owner, version, due_at, data FROM record
WHERE collection = :collection AND key > :after ORDER BY key LIMIT :limit

-- name: records_page_of
-- The next records of one owner.
SELECT collection, key, owner, version, due_at, data FROM record
WHERE collection = :collection AND owner = :owner AND owner <> '' AND key > :after ORDER BY key LIMIT :limit

-- name: due_records
-- The due records of a collection, the longest overdue first.
SELECT collection, key, owner, version, due_at, data FROM record
WHERE collection = :collection AND due_at <= :now ORDER BY due_at, key LIMIT :limit

-- name: next_due_record
-- The earliest due time of a collection.
SELECT min(due_at) FROM record WHERE collection = :collection AND due_at IS NOT NULL

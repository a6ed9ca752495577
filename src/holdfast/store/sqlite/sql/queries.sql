-- Every statement the SQLite store runs, by name. `(?*)` stands for a list of values of a fixed, padded length.

-- name: find_family
-- The id of a connection and kind.
SELECT id FROM family WHERE connection = ? AND kind = ?

-- name: add_family
-- A connection and kind met for the first time.
INSERT INTO family (connection, kind) VALUES (?, ?)

-- name: families
-- All connections and kinds of addresses, in address order.
SELECT id, connection, kind FROM family WHERE id > 0 ORDER BY connection, kind

-- name: find_names
-- The ids of names within their family.
SELECT id, local FROM name WHERE family = ? AND local IN (?*)

-- name: add_name
-- A name met for the first time.
INSERT INTO name (family, local) VALUES (?, ?)

-- name: marks
-- The hashes of the details of resources.
SELECT id, mark FROM resource WHERE id IN (?*)

-- name: applied_revisions
-- The last applied revision, requested check and handled request of these resources.
SELECT id, applied_revision, requested, handled FROM detail WHERE id IN (?*)

-- name: due_times
-- The due times of these resources.
SELECT id, due_at FROM resource WHERE id IN (?*)

-- name: reschedule
-- Change a due time.
UPDATE resource SET due_at = ? WHERE id = ?

-- name: request
-- Request a check.
UPDATE detail SET requested = ? WHERE id = ?

-- name: relink
-- Change the provider's id of a resource.
UPDATE detail SET provider_id = ? WHERE id = ?

-- name: outdate
-- Drop the tags of the last reading, so that nothing is taken as unchanged.
UPDATE detail SET etag = NULL, raw_digest = NULL WHERE id = ?

-- name: move_forward
-- Make a resource due at a time, unless it is due earlier.
UPDATE resource SET due_at = min(coalesce(due_at, ?1), ?1) WHERE id = ?2

-- name: set_back
-- Drop the time of the last check, which the clock has not reached yet.
UPDATE resource SET checked_at = NULL, due_at = ? WHERE id = ?

-- name: rests
-- The part of the details of resources that holds their conditions, and what decides whether it may be changed.
SELECT id, applied_revision, requested IS NOT handled, rest FROM detail WHERE id IN (?*)

-- name: withdraw_status
-- Make a status unknown.
UPDATE resource SET
  status = :status, checked_at = coalesce(:checked_at, checked_at), due_at = CASE WHEN :is_due THEN due_at END
WHERE id = :id

-- name: withdraw_reason
-- The reason and the conditions of an unknown status.
UPDATE detail SET reason = :reason, rest = :rest WHERE id = :id

-- name: put_resource
-- Replace the columns that every check changes.
INSERT INTO resource (id, status, failures, due_at, checked_at, good_at, mark) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  status = excluded.status, failures = excluded.failures, due_at = excluded.due_at,
  checked_at = excluded.checked_at, good_at = excluded.good_at, mark = excluded.mark

-- name: put_detail
-- Replace the other columns of a resource.
INSERT OR REPLACE INTO detail (
  id, provider_id, raw_digest, resync_seconds, etag, state_hash, generation, applied_revision, origin, settle_until,
  desired, applied, baseline, known, observed, rules, provider, source, reason, terminal, requested, handled, rest
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_unchanged
-- Record the times of a check that found nothing new.
UPDATE resource SET checked_at = ?1, good_at = ?1, due_at = ?2, failures = 0 WHERE id = ?3

-- name: any_request
-- Return 1 if any request is open.
SELECT EXISTS (SELECT 1 FROM detail INDEXED BY detail_requested WHERE requested IS NOT handled)

-- name: put_unchanged_unless_requested
-- The same while requests are open: a requested check is not moved to a later time.
UPDATE resource SET
  checked_at = ?1, good_at = ?1, failures = 0,
  due_at = CASE
    WHEN EXISTS (SELECT 1 FROM detail INDEXED BY detail_requested WHERE id = ?3 AND requested IS NOT handled)
    THEN coalesce(min(due_at, ?2), due_at, ?2)
    ELSE ?2
  END
WHERE id = ?3

-- name: put_tags
-- Record the tags of the last answer, if there are any and they are new.
UPDATE detail SET etag = coalesce(:etag, etag), raw_digest = coalesce(:raw_digest, raw_digest)
WHERE id = :id AND (etag IS NOT coalesce(:etag, etag) OR raw_digest IS NOT coalesce(:raw_digest, raw_digest))

-- name: forget_detail
-- Forget a resource, first half.
DELETE FROM detail WHERE id = ?

-- name: forget_resource
-- Forget a resource, second half; its name, claim, decisions and events stay.
DELETE FROM resource WHERE id = ?

-- name: forget_revisions
-- Forget the revisions of a resource; if it is declared again, they start from 1.
DELETE FROM revision WHERE resource = ?

-- name: states
-- Many resources by id.
SELECT * FROM state WHERE id IN (?*)

-- name: states_with_ids
-- The resources of a family among these ids of the provider.
SELECT * FROM state WHERE family = ? AND id IN (SELECT id FROM detail WHERE provider_id IN (?*))

-- name: states_page
-- The next resources of a family, in order.
SELECT * FROM state WHERE family = ? AND local > ? ORDER BY local LIMIT ?

-- name: sources_page
-- The next resources of a family, in order, and where they were declared.
SELECT local, source FROM name CROSS JOIN detail ON detail.id = name.id
WHERE family = ? AND local > ? ORDER BY local LIMIT ?

-- name: listed_digests
-- What a list is compared with: the digests of these resources, none for those that are not idle (`is_idle`).
SELECT provider_id,
  CASE
    WHEN status = 1 AND (applied = x'' OR applied = desired) AND baseline IS NOT NULL AND requested IS handled
      AND terminal IS NULL
    THEN raw_digest
  END
FROM detail CROSS JOIN resource ON resource.id = detail.id
WHERE detail.id IN (?*) AND provider_id IS NOT NULL

-- name: declaring_files
-- The files of declarations, with the earliest last check of what they declare, without the resources of one status.
SELECT rtrim(source, '0123456789') AS place, min(coalesce(checked_at, 0.0))
FROM detail CROSS JOIN resource ON resource.id = detail.id
WHERE source IS NOT NULL AND status IS NOT ? GROUP BY place

-- name: unchanged
-- The scheduled resources of a family among these ids that are idle, in the meaning of `is_idle`.
SELECT local, provider_id, raw_digest, resync_seconds
FROM detail CROSS JOIN name ON name.id = detail.id CROSS JOIN resource ON resource.id = detail.id
WHERE family = ? AND provider_id IN (?*)
  AND status = 1 AND due_at IS NOT NULL AND (applied = x'' OR applied = desired) AND baseline IS NOT NULL
  AND requested IS handled AND terminal IS NULL

-- name: unchecked_page
-- The next scheduled resources of a family, in order, that were not checked between two times.
SELECT local FROM name CROSS JOIN resource ON resource.id = name.id
WHERE family = ? AND local > ? AND due_at IS NOT NULL AND (checked_at IS NULL OR checked_at NOT BETWEEN ? AND ?)
ORDER BY local LIMIT ?

-- name: due
-- Due resources without a claim, the longest overdue first.
SELECT state.* FROM state
LEFT JOIN claim ON claim.id = state.id AND claim.owner IS NOT NULL AND claim.until > :now
WHERE due_at <= :now AND claim.id IS NULL
  AND (:without = '[]' OR connection NOT IN (SELECT value FROM json_each(:without)))
ORDER BY due_at LIMIT :limit

-- name: next_due
-- The earliest due time.
SELECT min(due_at) FROM resource WHERE due_at IS NOT NULL

-- name: next_due_without
-- The earliest due time, without some connections.
SELECT due_at FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE due_at IS NOT NULL AND connection NOT IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT 1

-- name: checked_in_future
-- Scheduled resources whose last check is after a time.
SELECT connection, kind, local FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE due_at IS NOT NULL AND checked_at > ? LIMIT ?

-- name: count_statuses
-- The number of resources by status, and of those that are overdue or were checked in the future.
SELECT status, count(*), count(CASE WHEN due_at <= ?1 OR (due_at IS NOT NULL AND checked_at > ?2) THEN 1 END)
FROM resource GROUP BY status

-- name: count_resources
-- The number of resources by connection and kind.
SELECT connection, kind, count(*) FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
GROUP BY family.id

-- name: addresses_with_status
-- The resources with a status.
SELECT connection, kind, local FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE status = ? ORDER BY connection, kind, local

-- name: claim_of
-- The current or last claim of a resource, and the revision that was applied last.
SELECT coalesce(fence, 0), owner, until, coalesce(applied_revision, 0)
FROM name LEFT JOIN claim ON claim.id = name.id LEFT JOIN detail ON detail.id = name.id WHERE name.id = ?

-- name: fences
-- The current or last fences of resources.
SELECT id, fence FROM claim WHERE id IN (?*)

-- name: put_claim
-- Claim a resource for an owner.
INSERT INTO claim (id, fence, owner, until) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET fence = excluded.fence, owner = excluded.owner, until = excluded.until

-- name: renew_claim
-- Prolong a claim, unless another owner took it.
UPDATE claim SET until = ? WHERE id = ? AND fence = ? AND owner = ?

-- name: release_claim
-- Release a claim, unless another owner took it; the fence stays.
UPDATE claim SET owner = NULL, until = NULL WHERE id = ? AND fence = ? AND owner = ?

-- name: claims
-- All held claims.
SELECT connection, kind, local, owner, fence, until
FROM claim JOIN name ON name.id = claim.id JOIN family ON family.id = name.family WHERE owner IS NOT NULL

-- name: known_documents
-- The digests among these that are stored.
SELECT digest FROM document WHERE digest IN (?*)

-- name: add_document
-- Store a document once.
INSERT OR IGNORE INTO document (digest, body) VALUES (?, ?)

-- name: documents
-- Many documents by digest.
SELECT digest, body FROM document WHERE digest IN (?*)

-- name: good_times
-- The last successful checks of these resources.
SELECT id, good_at FROM resource WHERE id IN (?*)

-- name: ages
-- The ages of the open findings of these resources.
SELECT resource, path, op, first_seen, clean_at, times FROM finding WHERE resource IN (?*)

-- name: remove_findings
-- All findings of a resource.
DELETE FROM finding WHERE resource = ?

-- name: add_finding
-- One finding of a resource.
INSERT INTO finding (resource, ordinal, path, op, first_seen, last_seen, clean_at, times, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: findings
-- All open findings, in address order.
SELECT connection, kind, local, first_seen, last_seen, clean_at, times, body
FROM finding JOIN name ON name.id = resource JOIN family ON family.id = name.family
ORDER BY connection, kind, local, ordinal

-- name: findings_of
-- The open findings of these resources.
SELECT connection, kind, local, first_seen, last_seen, clean_at, times, body
FROM finding JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (?*) ORDER BY resource, ordinal

-- name: revision
-- One revision.
SELECT document, stamp FROM revision WHERE resource = ? AND number = ?

-- name: add_revision
-- A new revision; one that is stored is never changed.
INSERT OR IGNORE INTO revision (resource, number, document, stamp, at) VALUES (?, ?, ?, ?, ?)

-- name: prune_revisions
-- Delete old revisions.
DELETE FROM revision WHERE resource = ? AND number <= ?

-- name: revisions
-- The revisions of a resource, newest first.
SELECT number, document, stamp, at FROM revision WHERE resource = ? ORDER BY number DESC

-- name: add_decision
-- A new decision.
INSERT INTO decision (id, resource, at, action, inputs, output, summary) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: decision
-- One decision.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE decision.id = ?

-- name: decisions
-- All decisions, newest first.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family ORDER BY number DESC LIMIT ?

-- name: decisions_of
-- The decisions on one resource, newest first.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource = ? ORDER BY number DESC LIMIT ?

-- name: put_operation
-- Insert or update a write in flight.
INSERT INTO operation (
  id, resource, action, step, phase, started_at, poll_at, attempts, desired, pre_image, decision, drift, token
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  resource = excluded.resource, action = excluded.action, step = excluded.step, phase = excluded.phase,
  started_at = excluded.started_at, poll_at = excluded.poll_at, attempts = excluded.attempts,
  desired = excluded.desired, pre_image = excluded.pre_image, decision = excluded.decision, drift = excluded.drift,
  token = excluded.token

-- name: remove_operation
-- Delete a finished write.
DELETE FROM operation WHERE id = ?

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
WHERE resource = ? ORDER BY started_at, number

-- name: put_correction
-- Insert or update a correction.
INSERT INTO correction (
  id, resource, at, action, reason, outcome, paths, pre_image, post_image, undoes, who
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  resource = excluded.resource, at = excluded.at, action = excluded.action, reason = excluded.reason,
  outcome = excluded.outcome, paths = excluded.paths, pre_image = excluded.pre_image,
  post_image = excluded.post_image, undoes = excluded.undoes, who = excluded.who

-- name: correction
-- One correction.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE correction.id = ?

-- name: corrections
-- All corrections since a time, newest first.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE at >= ? ORDER BY at DESC, number DESC LIMIT ?

-- name: reverts
-- The corrections of drift, conflict or absence since a time that were not refused, newest first.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE at >= ? AND reason IN ('drift', 'missing', 'conflict') AND outcome <> 'failed' ORDER BY at DESC, number DESC

-- name: corrections_of
-- The corrections of these resources since a time, newest first.
SELECT number, at, connection, kind, local, correction.id, action, reason, outcome, paths, pre_image, post_image,
  undoes, who
FROM correction JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (?*) AND at >= ? ORDER BY at DESC, number DESC LIMIT ?

-- name: chargeable
-- The number and time of a correction.
SELECT number, at FROM correction WHERE id = ?

-- name: is_charged
-- Return 1 if a correction was charged to a bucket.
SELECT 1 FROM charge WHERE correction = ? AND bucket = ?

-- name: count_charges
-- The number of charges of a bucket since a time.
SELECT count(*) FROM charge WHERE bucket = ? AND at >= ?

-- name: add_charge
-- Charge a bucket.
INSERT INTO charge (correction, bucket, at) VALUES (?, ?, ?)

-- name: put_pause
-- Pause a scope, or update its pause.
INSERT OR REPLACE INTO pause (scope, who, why, at, until) VALUES (?, ?, ?, ?, ?)

-- name: remove_pause
-- Resume a scope.
DELETE FROM pause WHERE scope = ?

-- name: pauses
-- All pauses, in order.
SELECT scope, who, why, at, until FROM pause ORDER BY scope

-- name: put_approval
-- Insert an approval, or record its use.
INSERT OR REPLACE INTO approval (plan, resource, who, why, at, used_at) VALUES (?, ?, ?, ?, ?, ?)

-- name: forget_approvals
-- Delete the unused approvals of a resource; used ones are history.
DELETE FROM approval WHERE resource = ? AND used_at IS NULL

-- name: approvals
-- All unused approvals.
SELECT connection, kind, local, plan, who, why, at, used_at
FROM approval JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE used_at IS NULL

-- name: approvals_of
-- The unused approvals of these resources.
SELECT connection, kind, local, plan, who, why, at, used_at
FROM approval JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (?*) AND used_at IS NULL

-- name: put_quarantine
-- Quarantine a path.
INSERT OR REPLACE INTO quarantine (resource, path, cause, since, data) VALUES (?, ?, ?, ?, ?)

-- name: remove_quarantine
-- End the quarantine of a path.
DELETE FROM quarantine WHERE resource = ? AND path = ?

-- name: forget_quarantines
-- All quarantines of a resource.
DELETE FROM quarantine WHERE resource = ?

-- name: quarantines
-- All quarantines.
SELECT connection, kind, local, path, cause, since, data
FROM quarantine JOIN name ON name.id = resource JOIN family ON family.id = name.family

-- name: quarantines_of
-- The quarantines of these resources.
SELECT connection, kind, local, path, cause, since, data
FROM quarantine JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE resource IN (?*)

-- name: put_accepted_value
-- Accept a live value as baseline.
INSERT OR REPLACE INTO accepted_value (resource, path, value, who, why, at) VALUES (?, ?, ?, ?, ?, ?)

-- name: remove_accepted_value
-- Delete an accepted value.
DELETE FROM accepted_value WHERE resource = ? AND path = ?

-- name: forget_accepted_values
-- All accepted values of a resource.
DELETE FROM accepted_value WHERE resource = ?

-- name: accepted_values
-- All accepted values.
SELECT connection, kind, local, path, value, who, why, at
FROM accepted_value JOIN name ON name.id = resource JOIN family ON family.id = name.family

-- name: accepted_values_of
-- The accepted values of these resources.
SELECT connection, kind, local, path, value, who, why, at
FROM accepted_value JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE resource IN (?*)

-- name: head
-- The recorded end of the audit trail, and the actual last event.
SELECT length, hash, (SELECT max(sequence) FROM event) FROM chain

-- name: set_head
-- Record the end of the audit trail.
UPDATE chain SET length = ?, hash = ?

-- name: add_event
-- Append an event to the audit trail.
INSERT INTO event (sequence, at, type, subject, data, hash) VALUES (?, ?, ?, ?, ?, ?)

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
  AND event.at >= :since AND instr(event.type, :prefix) = 1
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
  AND event.at >= :since AND instr(event.type, :prefix) = 1
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

-- name: version_of_record
-- The stored version of a record; the write lock is held.
SELECT version FROM record WHERE collection = ? AND key = ?

-- name: put_record
-- Store the next version of a record.
INSERT OR REPLACE INTO record (collection, key, owner, version, due_at, data) VALUES (?, ?, ?, ?, ?, ?)

-- name: remove_record
-- Delete a record.
DELETE FROM record WHERE collection = ? AND key = ?

-- name: record
-- One record.
SELECT collection, key, owner, version, due_at, data FROM record WHERE collection = ? AND key = ?

-- name: records_page
-- The next records of a collection.
SELECT collection, key, owner, version, due_at, data FROM record WHERE collection = ? AND key > ? ORDER BY key LIMIT ?

-- name: records_page_of
-- The next records of one owner.
SELECT collection, key, owner, version, due_at, data FROM record
WHERE collection = ? AND owner = ? AND owner <> '' AND key > ? ORDER BY key LIMIT ?

-- name: due_records
-- The due records of a collection, the longest overdue first.
SELECT collection, key, owner, version, due_at, data FROM record
WHERE collection = ? AND due_at <= ? ORDER BY due_at, key LIMIT ?

-- name: next_due_record
-- The earliest due time of a collection.
SELECT MIN(due_at) FROM record WHERE collection = ? AND due_at IS NOT NULL

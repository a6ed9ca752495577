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
-- What the details of resources are like, without reading them.
SELECT id, mark FROM resource WHERE id IN (?*)

-- name: applied_revisions
-- How far the writes to these resources have come, and which check was asked for and which was done last.
SELECT id, applied_revision, requested, handled FROM detail WHERE id IN (?*)

-- name: due_times
-- When these resources are to be looked at.
SELECT id, due_at FROM resource WHERE id IN (?*)

-- name: reschedule
-- Another due time, and nothing else.
UPDATE resource SET due_at = ? WHERE id = ?

-- name: request
-- A check that somebody asks for.
UPDATE detail SET requested = ? WHERE id = ?

-- name: put_resource
-- What a check leaves behind: replaces all of it.
INSERT INTO resource (id, status, failures, due_at, checked_at, good_at, mark) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  status = excluded.status, failures = excluded.failures, due_at = excluded.due_at,
  checked_at = excluded.checked_at, good_at = excluded.good_at, mark = excluded.mark

-- name: put_detail
-- All the rest of a resource.
INSERT OR REPLACE INTO detail (
  id, provider_id, raw_digest, resync_seconds, etag, state_hash, generation, applied_revision, origin, settle_until,
  desired, applied, baseline, known, observed, rules, provider, source, reason, terminal, requested, handled, rest
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: touch
-- A successful check that found nothing new: its times.
UPDATE resource SET checked_at = ?1, good_at = ?1, due_at = ?2, failures = 0 WHERE id = ?3

-- name: any_request
-- Whether any check was asked for that is not done.
SELECT EXISTS (SELECT 1 FROM detail INDEXED BY detail_requested WHERE requested IS NOT handled)

-- name: touch_unless_requested
-- The same while some checks are asked for: what was asked for is not put off.
UPDATE resource SET
  checked_at = ?1, good_at = ?1, failures = 0,
  due_at = CASE
    WHEN EXISTS (SELECT 1 FROM detail INDEXED BY detail_requested WHERE id = ?3 AND requested IS NOT handled)
    THEN coalesce(min(due_at, ?2), due_at, ?2)
    ELSE ?2
  END
WHERE id = ?3

-- name: retag
-- The tags of the last answer, where there are any, and only where they are new.
UPDATE detail SET etag = coalesce(:etag, etag), raw_digest = coalesce(:raw_digest, raw_digest)
WHERE id = :id AND (etag IS NOT coalesce(:etag, etag) OR raw_digest IS NOT coalesce(:raw_digest, raw_digest))

-- name: forget_detail
-- The first half of forgetting a resource.
DELETE FROM detail WHERE id = ?

-- name: forget_resource
-- The second half; its name, claim, decisions and events stay.
DELETE FROM resource WHERE id = ?

-- name: forget_revisions
-- A resource declared anew counts its revisions from 1 again.
DELETE FROM revision WHERE resource = ?

-- name: states
-- Many resources by id.
SELECT * FROM state WHERE id IN (?*)

-- name: states_page
-- The next resources of a family, in order.
SELECT * FROM state WHERE family = ? AND local > ? ORDER BY local LIMIT ?

-- name: at_rest
-- Which of the things of a family with these ids are in sync (1), scheduled, as applied, and not waited for by anybody.
SELECT local, provider_id, raw_digest, resync_seconds
FROM detail CROSS JOIN name ON name.id = detail.id CROSS JOIN resource ON resource.id = detail.id
WHERE family = ? AND provider_id IN (?*)
  AND status = 1 AND due_at IS NOT NULL AND (applied = x'' OR applied IS desired)
  AND requested IS handled AND terminal IS NULL

-- name: unlooked_page
-- The next scheduled resources of a family, in order, that were not checked between two times.
SELECT local FROM name CROSS JOIN resource ON resource.id = name.id
WHERE family = ? AND local > ? AND due_at IS NOT NULL AND (checked_at IS NULL OR checked_at NOT BETWEEN ? AND ?)
ORDER BY local LIMIT ?

-- name: due
-- What should be looked at now and nobody is writing to, the longest overdue first.
SELECT state.* FROM state
LEFT JOIN claim ON claim.id = state.id AND claim.owner IS NOT NULL AND claim.until > :now
WHERE due_at <= :now AND claim.id IS NULL
  AND (:without = '[]' OR connection NOT IN (SELECT value FROM json_each(:without)))
ORDER BY due_at LIMIT :limit

-- name: next_due
-- The earliest due time.
SELECT min(due_at) FROM resource WHERE due_at IS NOT NULL

-- name: next_due_without
-- The earliest due time, but for some connections.
SELECT due_at FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE due_at IS NOT NULL AND connection NOT IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT 1

-- name: ahead
-- Scheduled resources that were checked, it seems, after a time.
SELECT connection, kind, local FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE due_at IS NOT NULL AND checked_at > ? LIMIT ?

-- name: tally
-- How many resources have which status, and how many of them are overdue; what was checked later than now is.
SELECT status, count(*), count(CASE WHEN due_at <= ?1 OR (due_at IS NOT NULL AND checked_at > ?2) THEN 1 END)
FROM resource GROUP BY status

-- name: sizes
-- How many resources there are of each connection and kind.
SELECT connection, kind, count(*) FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
GROUP BY family.id

-- name: with_status
-- The resources whose last verdict was this.
SELECT connection, kind, local FROM resource JOIN name ON name.id = resource.id JOIN family ON family.id = name.family
WHERE status = ? ORDER BY connection, kind, local

-- name: claim_of
-- Who holds or last held a resource.
SELECT fence, owner, until FROM claim WHERE id = ?

-- name: put_claim
-- Give a resource to an owner.
INSERT INTO claim (id, fence, owner, until) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET fence = excluded.fence, owner = excluded.owner, until = excluded.until

-- name: renew_claim
-- Prolong a claim, if it is still the one.
UPDATE claim SET until = ? WHERE id = ? AND fence = ? AND owner = ?

-- name: release_claim
-- Give a claim back, if it is still the one; the fence stays.
UPDATE claim SET owner = NULL, until = NULL WHERE id = ? AND fence = ? AND owner = ?

-- name: claims
-- Who holds what.
SELECT connection, kind, local, owner, fence, until
FROM claim JOIN name ON name.id = claim.id JOIN family ON family.id = name.family WHERE owner IS NOT NULL

-- name: known_documents
-- Which of these documents are kept already.
SELECT digest FROM document WHERE digest IN (?*)

-- name: add_document
-- Keep a document, once.
INSERT OR IGNORE INTO document (digest, body) VALUES (?, ?)

-- name: documents
-- Many documents by digest.
SELECT digest, body FROM document WHERE digest IN (?*)

-- name: good_times
-- When these resources were last checked well.
SELECT id, good_at FROM resource WHERE id IN (?*)

-- name: ages
-- How long the open findings of these resources have been known.
SELECT resource, path, op, first_seen, clean_at, times FROM finding WHERE resource IN (?*)

-- name: remove_findings
-- All findings of a resource.
DELETE FROM finding WHERE resource = ?

-- name: add_finding
-- One finding of a resource.
INSERT INTO finding (resource, ordinal, path, op, first_seen, last_seen, clean_at, times, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: findings
-- The open findings of everything, in address order.
SELECT connection, kind, local, first_seen, last_seen, clean_at, times, body
FROM finding JOIN name ON name.id = resource JOIN family ON family.id = name.family
ORDER BY connection, kind, local, ordinal

-- name: findings_of
-- The open findings of these resources.
SELECT connection, kind, local, first_seen, last_seen, clean_at, times, body
FROM finding JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (?*) ORDER BY resource, ordinal

-- name: revision
-- One revision, to be compared with one that claims its number.
SELECT document, stamp FROM revision WHERE resource = ? AND number = ?

-- name: add_revision
-- A new revision.
INSERT INTO revision (resource, number, document, stamp, at) VALUES (?, ?, ?, ?, ?)

-- name: prune_revisions
-- Revisions that are older than any that may be asked for.
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
-- The decisions on everything, newest first.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family ORDER BY number DESC LIMIT ?

-- name: decisions_of
-- The decisions on one resource, newest first.
SELECT decision.id, connection, kind, local, at, action, inputs, output, summary
FROM decision JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource = ? ORDER BY number DESC LIMIT ?

-- name: put_operation
-- A write in flight, as far as it has come.
INSERT INTO operation (
  id, resource, action, step, phase, started_at, poll_at, attempts, desired, pre_image, decision, drift, token
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  resource = excluded.resource, action = excluded.action, step = excluded.step, phase = excluded.phase,
  started_at = excluded.started_at, poll_at = excluded.poll_at, attempts = excluded.attempts,
  desired = excluded.desired, pre_image = excluded.pre_image, decision = excluded.decision, drift = excluded.drift,
  token = excluded.token

-- name: remove_operation
-- A write that came to its end.
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
-- A write of ours, as far as it is known how it ended.
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
-- The corrections of everything since a time, newest first.
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
-- What a charge needs of its correction.
SELECT number, at FROM correction WHERE id = ?

-- name: is_charged
-- Whether a correction was charged to a bucket already.
SELECT 1 FROM charge WHERE correction = ? AND bucket = ?

-- name: spent
-- How often a bucket was charged since a time.
SELECT count(*) FROM charge WHERE bucket = ? AND at >= ?

-- name: add_charge
-- Take from a bucket.
INSERT INTO charge (correction, bucket, at) VALUES (?, ?, ?)

-- name: put_pause
-- Stop a scope, or say anew why and until when.
INSERT OR REPLACE INTO pause (scope, who, why, at, until) VALUES (?, ?, ?, ?, ?)

-- name: remove_pause
-- Let a scope go on.
DELETE FROM pause WHERE scope = ?

-- name: pauses
-- All pauses, in order.
SELECT scope, who, why, at, until FROM pause ORDER BY scope

-- name: put_approval
-- A yes to a plan, or that it was used.
INSERT OR REPLACE INTO approval (plan, resource, who, why, at, used_at) VALUES (?, ?, ?, ?, ?, ?)

-- name: forget_approvals
-- The approvals of a resource that were not used; used ones are history.
DELETE FROM approval WHERE resource = ? AND used_at IS NULL

-- name: approvals
-- The unused approvals of everything.
SELECT connection, kind, local, plan, who, why, at, used_at
FROM approval JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE used_at IS NULL

-- name: approvals_of
-- The unused approvals of these resources.
SELECT connection, kind, local, plan, who, why, at, used_at
FROM approval JOIN name ON name.id = resource JOIN family ON family.id = name.family
WHERE resource IN (?*) AND used_at IS NULL

-- name: put_quarantine
-- A path that is only reported from now on.
INSERT OR REPLACE INTO quarantine (resource, path, cause, since, data) VALUES (?, ?, ?, ?, ?)

-- name: remove_quarantine
-- A path that is corrected again.
DELETE FROM quarantine WHERE resource = ? AND path = ?

-- name: forget_quarantines
-- All quarantines of a resource.
DELETE FROM quarantine WHERE resource = ?

-- name: quarantines
-- The quarantines of everything.
SELECT connection, kind, local, path, cause, since, data
FROM quarantine JOIN name ON name.id = resource JOIN family ON family.id = name.family

-- name: quarantines_of
-- The quarantines of these resources.
SELECT connection, kind, local, path, cause, since, data
FROM quarantine JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE resource IN (?*)

-- name: put_acceptance
-- A live value that stands for the baseline from now on.
INSERT OR REPLACE INTO acceptance (resource, path, value, who, why, at) VALUES (?, ?, ?, ?, ?, ?)

-- name: remove_acceptance
-- A path at which nothing is accepted any more.
DELETE FROM acceptance WHERE resource = ? AND path = ?

-- name: forget_acceptances
-- All acceptances of a resource.
DELETE FROM acceptance WHERE resource = ?

-- name: acceptances
-- The acceptances of everything.
SELECT connection, kind, local, path, value, who, why, at
FROM acceptance JOIN name ON name.id = resource JOIN family ON family.id = name.family

-- name: acceptances_of
-- The acceptances of these resources.
SELECT connection, kind, local, path, value, who, why, at
FROM acceptance JOIN name ON name.id = resource JOIN family ON family.id = name.family WHERE resource IN (?*)

-- name: head
-- Where the audit trail ends by its own account, and where it does.
SELECT length, hash, (SELECT max(sequence) FROM event) FROM chain

-- name: set_head
-- Where the audit trail ends now.
UPDATE chain SET length = ?, hash = ?

-- name: add_event
-- The next link of the audit trail.
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
  AND event.at >= :since AND substr(event.type, 1, length(:prefix)) = :prefix
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
  AND event.at >= :since AND substr(event.type, 1, length(:prefix)) = :prefix
ORDER BY event.sequence LIMIT :limit

-- name: version_of_record
-- Which version of a matter is kept; the write lock is held.
SELECT version FROM record WHERE collection = ? AND key = ?

-- name: put_record
-- The next version of a matter.
INSERT OR REPLACE INTO record (collection, key, owner, version, due_at, data) VALUES (?, ?, ?, ?, ?, ?)

-- name: remove_record
-- A matter that is over and that nobody will ask about.
DELETE FROM record WHERE collection = ? AND key = ?

-- name: record
-- One matter.
SELECT collection, key, owner, version, due_at, data FROM record WHERE collection = ? AND key = ?

-- name: records_page
-- A collection, a page at a time.
SELECT collection, key, owner, version, due_at, data FROM record WHERE collection = ? AND key > ? ORDER BY key LIMIT ?

-- name: records_page_of
-- What belongs to one owner, a page at a time.
SELECT collection, key, owner, version, due_at, data FROM record
WHERE collection = ? AND owner = ? AND owner <> '' AND key > ? ORDER BY key LIMIT ?

-- name: due_records
-- What something is to be done about by now, the longest overdue first.
SELECT collection, key, owner, version, due_at, data FROM record
WHERE collection = ? AND due_at <= ? ORDER BY due_at, key LIMIT ?

-- name: next_due_record
-- When something is to be done next.
SELECT MIN(due_at) FROM record WHERE collection = ? AND due_at IS NOT NULL

-- The statements of the manifest index. `temp.chosen` has the files of the run, `held.body` the bodies read in it.

-- name: files
-- All files, for a comparison with those on disk.
SELECT id, path, status, digest, version, indexed_at, form, entries, others FROM manifest WHERE path IS NOT NULL

-- name: some_files
-- Files by path.
SELECT id, path, status, digest, version, indexed_at, form, entries, others FROM manifest WHERE path IN (?*)

-- name: supersede
-- Take a file out of use; a run that began before may still read it.
UPDATE manifest SET path = NULL, replaced_at = ? WHERE path = ?

-- name: add_file
-- Add a file.
INSERT INTO manifest (path, status, digest, version, indexed_at, form, entries, others)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_entry
-- Add a declaration of a file.
INSERT INTO manifest_entry (manifest, address, name, identity, has_secrets, head, links, seal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: drop_old_entries
-- Delete the declarations of files that no run uses any more.
DELETE FROM manifest_entry WHERE manifest IN (SELECT id FROM manifest WHERE replaced_at < ?)

-- name: drop_old_files
-- Delete files that no run uses any more.
DELETE FROM manifest WHERE replaced_at < ?

-- name: drop_entries
-- Delete the declarations of files.
DELETE FROM manifest_entry WHERE manifest IN (?*)

-- name: drop_files
-- Delete files.
DELETE FROM manifest WHERE id IN (?*)

-- name: touch
-- Record that a file has the same content as before.
UPDATE manifest SET status = ?, indexed_at = ? WHERE id = ?

-- name: choose
-- Add a file to the run.
INSERT OR REPLACE INTO temp.chosen (manifest, name, path) VALUES (?, ?, ?)

-- name: entries
-- Declarations by address.
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.address IN (?*)
ORDER BY e.address

-- name: named
-- Declarations by name.
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.name IN (?*)
ORDER BY e.address

-- name: page
-- The next declarations in address order.
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.address > ?
ORDER BY e.address LIMIT ?

-- name: page_links
-- The next declarations that refer to others.
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.links IS NOT NULL AND e.address > ?
ORDER BY e.address LIMIT ?

-- name: page_secrets
-- The next declarations that may refer to secrets.
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.has_secrets AND e.address > ?
ORDER BY e.address LIMIT ?

-- name: addresses
-- All declared addresses.
SELECT e.address FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest ORDER BY e.address

-- name: count
-- The number of declarations.
SELECT count(*) FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest

-- name: address_clashes
-- An address that is declared twice.
SELECT e.address FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest
GROUP BY e.address HAVING count(*) > 1 LIMIT 1

-- name: identity_clashes
-- A live thing that two declarations mean.
SELECT e.identity FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest
WHERE e.identity IS NOT NULL
GROUP BY e.identity HAVING count(*) > 1 LIMIT 1

-- name: undeclared
-- Resources of the store that are not declared.
SELECT f.connection || '/' || f.kind || '/' || n.local
FROM resource r
JOIN name n ON n.id = r.id
JOIN family f ON f.id = n.family
WHERE NOT EXISTS (
  SELECT 1 FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest
  WHERE e.address = f.connection || '/' || f.kind || '/' || n.local
)
ORDER BY 1

-- name: known
-- All resources of the store.
SELECT f.connection || '/' || f.kind || '/' || n.local
FROM resource r
JOIN name n ON n.id = r.id
JOIN family f ON f.id = n.family
ORDER BY r.id

-- name: set
-- What is known of a set of files.
SELECT summary FROM manifest_set WHERE key = ?

-- name: put_set
-- Record that files fit together.
INSERT OR REPLACE INTO manifest_set (key, at, summary) VALUES (?, ?, ?)

-- name: old_sets
-- Sets of files beyond those that are kept.
SELECT key FROM manifest_set ORDER BY at DESC LIMIT -1 OFFSET ?

-- name: drop_set
-- Delete a set of files.
DELETE FROM manifest_set WHERE key = ?

-- name: drop_bindings
-- Delete the meanings of references in a set of files.
DELETE FROM manifest_binding WHERE key = ?

-- name: put_binding
-- Record what references mean.
INSERT OR REPLACE INTO manifest_binding (key, address, body) VALUES (?, ?, ?)

-- name: bindings
-- The meanings of all references in a set of files.
SELECT address, body FROM manifest_binding WHERE key = ? ORDER BY address

-- name: some_bindings
-- The meanings of the references of some declarations.
SELECT address, body FROM manifest_binding WHERE address IN (?*) AND key = ?

-- name: hold_body
-- Hold a document until the end of the run.
INSERT OR REPLACE INTO held.body (address, document, body) VALUES (?, ?, ?)

-- name: keep_bodies
-- Keep held documents that the store has in clear. The plus keeps the search by address.
UPDATE $store.manifest_entry SET (document, body) = (
  SELECT h.document, h.body FROM held.body h WHERE h.address = manifest_entry.address
)
WHERE address IN (SELECT h.address FROM held.body h JOIN $store.document d ON d.digest = h.document)
  AND +manifest IN (SELECT manifest FROM temp.chosen)

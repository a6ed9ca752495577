-- The statements of the manifest index. `temp.chosen` has the files of the run, `held.body` the bodies read in it.

-- name: files
SELECT id, path, status, digest, version, indexed_at, form, entries, others FROM manifest WHERE path IS NOT NULL

-- name: supersede
UPDATE manifest SET path = NULL, replaced_at = ? WHERE path = ?

-- name: add_file
INSERT INTO manifest (path, status, digest, version, indexed_at, form, entries, others)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_entry
INSERT INTO manifest_entry (manifest, address, name, identity, has_secrets, head, links, seal)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: drop_old_entries
DELETE FROM manifest_entry WHERE manifest IN (SELECT id FROM manifest WHERE replaced_at < ?)

-- name: drop_old_files
DELETE FROM manifest WHERE replaced_at < ?

-- name: drop_entries
DELETE FROM manifest_entry WHERE manifest IN (?*)

-- name: drop_files
DELETE FROM manifest WHERE id IN (?*)

-- name: touch
UPDATE manifest SET status = ?, indexed_at = ? WHERE id = ?

-- name: choose
INSERT OR REPLACE INTO temp.chosen (manifest, name, path) VALUES (?, ?, ?)

-- name: chosen
SELECT manifest, name, path FROM temp.chosen

-- name: entries
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.address IN (?*)
ORDER BY e.address

-- name: named
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.name IN (?*)
ORDER BY e.address

-- name: page
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.address > ?
ORDER BY e.address LIMIT ?

-- name: page_links
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.links IS NOT NULL AND e.address > ?
ORDER BY e.address LIMIT ?

-- name: page_secrets
SELECT e.address, e.name, e.identity, e.has_secrets, e.head, e.links, e.seal, c.name, c.path,
  coalesce(e.document, h.document), coalesce(e.body, h.body)
FROM manifest_entry e
JOIN temp.chosen c ON c.manifest = e.manifest
LEFT JOIN held.body h ON h.address = e.address
WHERE e.has_secrets AND e.address > ?
ORDER BY e.address LIMIT ?

-- name: addresses
SELECT e.address FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest ORDER BY e.address

-- name: count
SELECT count(*) FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest

-- name: address_clashes
SELECT e.address FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest
GROUP BY e.address HAVING count(*) > 1 LIMIT 1

-- name: identity_clashes
SELECT e.identity FROM manifest_entry e JOIN temp.chosen c ON c.manifest = e.manifest
WHERE e.identity IS NOT NULL
GROUP BY e.identity HAVING count(*) > 1 LIMIT 1

-- name: undeclared
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
SELECT f.connection || '/' || f.kind || '/' || n.local
FROM resource r
JOIN name n ON n.id = r.id
JOIN family f ON f.id = n.family
ORDER BY r.id

-- name: set
SELECT summary FROM manifest_set WHERE key = ?

-- name: put_set
INSERT OR REPLACE INTO manifest_set (key, at, summary) VALUES (?, ?, ?)

-- name: old_sets
SELECT key FROM manifest_set ORDER BY at DESC LIMIT -1 OFFSET ?

-- name: drop_set
DELETE FROM manifest_set WHERE key = ?

-- name: drop_bindings
DELETE FROM manifest_binding WHERE key = ?

-- name: put_binding
INSERT OR REPLACE INTO manifest_binding (key, address, body) VALUES (?, ?, ?)

-- name: bindings
SELECT address, body FROM manifest_binding WHERE key = ? ORDER BY address

-- name: some_bindings
SELECT address, body FROM manifest_binding WHERE address IN (?*) AND key = ?

-- name: hold_body
INSERT OR REPLACE INTO held.body (address, document, body) VALUES (?, ?, ?)

-- name: keep_bodies
UPDATE $store.manifest_entry SET (document, body) = (
  SELECT h.document, h.body FROM held.body h WHERE h.address = manifest_entry.address
)
WHERE manifest IN (SELECT manifest FROM temp.chosen)
  AND address IN (SELECT h.address FROM held.body h JOIN $store.document d ON d.digest = h.document)

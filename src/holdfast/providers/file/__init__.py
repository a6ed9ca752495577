"""Files on disk as resources: a JSON, YAML, TOML or INI document (kind Document), or any text (kind Text).

    apiVersion: file.holdfast.dev/v1
    kind: Document
    metadata: {name: app-config}
    spec:
      connection: local                # holdfast.yaml: connections: {local: {provider: file, root: ./etc}}
      resource:
        path: app/config.yaml          # below the connection's root, and never outside it
        format: yaml                   # json, yaml, toml or ini; else by the extension
        content: {server: {port: 8080}}
        mode: "0644"                   # mode, owner and group are compared and written only if declared
        owner: www-data                # a name, or an id

Writes replace the file atomically (temporary file, fsync, rename, fsync of the folder), keep its mode, owner and
extended attributes, and change only the lines that must change. Keys that are not declared are left alone.

Symbolic links are followed as long as they lead to a place below the root; the file they lead to is replaced, the link
stays. A link that leads outside, or nowhere, is refused. Deleting removes the link and not its target. A file
with several hard links is replaced under this name only.
"""

"""Flash's own formats, read only: its state file, and the dump that it hashes."""

"""The kinds, as tables: one module a service or corner of it."""

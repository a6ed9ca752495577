"""The store on SQLite: one file shared by several processes, or one database in memory.

Belongs here: SQL, rows, migrations, the thread that owns the connection. Must not be here: any other backend.
"""

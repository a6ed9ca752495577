"""The store on PostgreSQL 14 or newer, shared by any number of processes and machines.

Belongs here: SQL, locks and errors of PostgreSQL. Must not be here: the meaning of records, which is in `store`.
"""

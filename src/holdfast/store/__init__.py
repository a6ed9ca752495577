"""The memory: what was declared, applied, seen, decided and done, behind one Protocol.

Belongs here: keeping and finding facts, in one transaction at a time. Must not be here: any decision about them.
"""

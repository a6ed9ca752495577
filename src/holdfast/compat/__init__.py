"""Formats of other projects, read and written byte for byte.

Belongs here: hashes and stamps as their controllers compute them. Must not be here: any decision.
"""

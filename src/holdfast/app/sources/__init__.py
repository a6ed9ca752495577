"""Sources of declarations: files today.

Belongs here: where declarations come from and how a change of them is noticed. Must not be here: checks and writes.
"""

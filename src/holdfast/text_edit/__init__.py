"""Changing a text by the line: what must change does, every other character stays as it is.

Belongs here: the edits that lead from one document to another, and making one of them in a JSON or YAML text. Must not
be here: files, manifests, providers, or any say in whether a change should be made. Nothing here is trusted: whoever
splices a text reads the result again and compares.
"""

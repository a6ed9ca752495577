"""Edits of the files that people wrote: accepted values in manifests, entries in files of waivers.

Belongs here: finding the place of a value in its text, and changing that place only. Must not be here: which value is
right, which the answer to a finding says.
"""

"""The contents of the store as families of numbers for metrics systems.

Belongs here: the metrics with their names and labels, and reading them from the store a page at a time. Must not be
here: how they are written down (that is a door's), or any read of live state.
"""

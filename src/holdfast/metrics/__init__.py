"""What the store knows, as families of numbers for whoever collects metrics.

Belongs here: what is counted, under which names and labels, and reading it from the store a page at a time. Must not be
here: how it is written down (that is a door's), or any look at the world.
"""

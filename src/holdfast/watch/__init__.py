"""The resync loop: which resources are due, in which order, and how one list call serves many.

Must not be here: reading manifests, rendering.
"""

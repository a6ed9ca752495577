"""The composition root: a project is a store, connections, policy and a source of declarations.

Must not be here: parsing of command lines, rendering.
"""

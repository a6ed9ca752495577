"""Adapters to remote services: one folder for each provider, with its kinds and profiles as data.

Belongs here: reading and writing one kind of API, and the profile packs beside it. Must not be here: any decision.
"""

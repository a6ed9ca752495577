"""Kubernetes: any kind that an API server serves, from plain manifests.

Belongs here: access to the API server, ownership of fields, and the rules of its kinds. Must not be here: verdicts and
decisions.
"""

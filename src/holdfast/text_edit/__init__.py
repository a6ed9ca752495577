"""Minimal edits of JSON and YAML texts: every character outside of the edited value stays.

Belongs here: the edits between two documents, and the application of one edit to a text. Must not be here: files,
manifests, providers, or the decision to make a change. The caller must read an edited text again and compare it.
"""

"""Notifications: which events of a run are news, and the sinks that receive them."""

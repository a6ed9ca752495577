"""Asking how a target is: Prometheus, Alertmanager, and probes over HTTP, TCP or by a command.

Belongs here: one client a source, that turns its answers into the plain data `plan.assessing` scores. Must not be here:
what an answer means, when to ask, what to remember. No client raises for a failure of the world: what could not be
asked is None, or unknown.
"""

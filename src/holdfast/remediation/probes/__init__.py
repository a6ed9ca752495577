"""Health sources of a target: Prometheus, Alertmanager, and probes over HTTP, TCP or by a command.

Belongs here: one client for each source, that turns its answers into the plain data of `remediation.core`. Must not be
here: the meaning of an answer, the schedule, the records. No client raises for an outside failure: an answer that could
not be had is None, or unknown.
"""

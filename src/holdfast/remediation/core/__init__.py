"""Did a correction hold, and did it help: the pure half of assessing remediations (seed 003).

Belongs here: windows, the phases as a function of state, facts and time, the scores of each component, the reason an
assessment ended, and the audit events as data. Must not be here: reading a target, asking Prometheus or Alertmanager,
running a probe, keeping anything: the engine does that, and hands what it learnt to `phases.step`.
"""

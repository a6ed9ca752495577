"""True if corrections held and helped: records of them, and the course of their assessments (seed 003).

Belongs here: keeping remediations, reading targets, asking what measures, undoing what did not help. Must not be here:
scores, phases and reasons (that is plan.assessing), or how a server is spoken to (that is measuring).
"""

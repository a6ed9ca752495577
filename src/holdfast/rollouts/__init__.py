"""Carrying out rollouts: records of templates and children, and the steps that move these to a revision (seed 004).

Belongs here: effects in their order, each recorded before it is carried out. Must not be here: which child is next, or
how one stands to its owners (that is plan.rolling_out).
"""

"""Rollout execution: records of templates and children, and the steps that move children to a revision (seed 004).

Belongs here: effects in order, each recorded before it is carried out. Must not be here: the choice of the next child,
or the comparison of a child with its owners. Both are in `rollouts.core`.
"""

"""Templates, their children, and rollouts that move children to a new revision in steps (seed 004): the pure part.

Belongs here: revisions and hash epochs, the comparison of a child with its owners, rollouts as functions of saved
state. Must not be here: reading or writing a child, keeping a record, a clock. These are in `rollouts`.
"""

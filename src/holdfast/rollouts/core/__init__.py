"""Templates, their children, and bringing these to a new revision a few at a time (seed 004): the pure half.

Belongs here: revisions and regimes, how a child stands to its owners, rollouts as functions of what was saved. Must not
be here: reading or writing a child, keeping a record, a clock: that is engine.rolling_out.
"""

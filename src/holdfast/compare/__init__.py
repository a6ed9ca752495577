"""Pure comparison: canonical form, schemes, profiles, comparators, differences, known differences, verdicts.

Belongs here: functions of their arguments. Must not be here: asyncio, HTTP, SQL, files, a clock, randomness.
"""

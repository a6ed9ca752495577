"""Pure decisions: settings in force, what to do about a verdict, in which order, within which limits.

Belongs here: functions of their arguments. Must not be here: asyncio, HTTP, SQL, files, a clock, randomness.
"""

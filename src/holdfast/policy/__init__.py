"""Pure decisions: settings in force, the action for a verdict, the order of writes and their limits.

Belongs here: functions of their arguments. Must not be here: asyncio, HTTP, SQL, files, a clock, randomness.
"""

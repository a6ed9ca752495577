"""The shell that acts: checking, acting, settling, scheduling; one activity a file.

Belongs here: effects in their order, asyncio, retries. Must not be here: deciding (that is plan and compare) or
rendering (that is the doors').
"""

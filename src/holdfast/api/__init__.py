"""The Python-first door: objects in a program are the declarations.

Belongs here: turning objects that describe themselves (`model.outline`) into declarations, calling the engine, and
saying what came of it in Python's words. Must not be here: anything of one provider, or any decision.
"""

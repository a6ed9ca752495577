"""Plain frozen data: the glossary as types.

Belongs here: frozen dataclasses and enums with little behaviour. Must not be here: any decision, any input or output.
"""

"""Plain frozen data: the words of the product as types.

Belongs here: dataclasses and enums without behaviour to speak of. Must not be here: any decision, any input or output.
"""

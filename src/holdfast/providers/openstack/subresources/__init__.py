"""What belongs to a thing but has calls of its own: read with the thing, compared as a set, written one by one."""

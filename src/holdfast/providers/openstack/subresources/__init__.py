"""Sub-resources with calls of their own: read with the resource, compared as a set, written one by one."""

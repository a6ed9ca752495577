"""OpenStack: networks, servers, volumes, images and the projects they are in, through openstacksdk.

Belongs here: what the kinds are (`kinds/`, tables of data), what belongs to a thing but has calls of its own (`subs/`),
and the generic reading and writing over them. Must not be here: any decision, and any import of the SDK outside
`cloud`, so that whoever has no OpenStack needs none of it.
"""

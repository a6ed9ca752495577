"""OpenStack: networks, servers, volumes, images and the projects they are in, through openstacksdk.

Belongs here: the kinds (`kinds/`, tables of data), parts with calls of their own (`subresources/`), and the generic
reading and writing over them. Must not be here: any decision, and any import of the SDK outside `cloud`, so that a user
without OpenStack does not need the SDK.
"""

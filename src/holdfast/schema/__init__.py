"""The one way to read configuration: declared types in, values or all mistakes out.

Manifests, the project file, profiles, descriptions of APIs, waivers and provider settings are read through it. `fields`
has the types, `document` the places and the collected mistakes. Belongs here: the needs of any configuration. Must not
be here: the meaning of a field; each schema stands beside the code that uses its values.
"""

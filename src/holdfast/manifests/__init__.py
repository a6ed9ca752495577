"""Files that people write: manifests, the project file, and the references to secrets in both.

Belongs here: finding and reading files, and turning them into the model with every mistake named by file, line and
field. Must not be here: any decision about resources, any call to a provider or store. Only the engine and the doors
may import it.
"""

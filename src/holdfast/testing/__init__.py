"""Tools for measuring and testing: the conformance kit, a provider in memory, a fake clock, recorded corpora.

Public: authors test their providers with it, and users measure their own recordings. `holdfast demo` and `bench`
run on it. Must not be here: emulators of real services, which are the distribution holdfast-emulators.
"""

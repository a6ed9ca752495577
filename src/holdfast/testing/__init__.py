"""Tools for measuring and testing: corpora of recorded traffic now; fakes, emulators and a conformance kit belong here.

Public: users measure their own recordings with it. Must not be here: anything the engine needs to run.
"""

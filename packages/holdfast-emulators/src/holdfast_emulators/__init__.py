"""Servers that behave like Azure, RunPod and OpenStack, for tests and examples of Holdfast.

Belongs here: emulators and the tools that start real services. Must not be here: anything the product needs to run.
"""

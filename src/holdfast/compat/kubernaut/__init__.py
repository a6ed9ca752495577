"""Kubernaut's fingerprints of Kubernetes objects."""

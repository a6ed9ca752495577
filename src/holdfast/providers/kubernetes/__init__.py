"""Kubernetes: any kind that a server serves, declared by plain manifests."""

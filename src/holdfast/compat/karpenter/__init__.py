"""Karpenter's structure hashes."""

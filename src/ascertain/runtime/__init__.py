"""Hands: drivers that perform what flows ask for, the committer, the app, the worker."""

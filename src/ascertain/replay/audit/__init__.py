"""Recorded conversations judged without a ledger: what was repeated, and what was said of it."""

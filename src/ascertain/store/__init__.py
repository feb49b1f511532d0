"""Memory: the ledger. All SQL of the library lives in this folder."""

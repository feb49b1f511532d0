"""Words: frozen records and the transition tables. Standard library only, no behaviour."""

"""Judgement: pure functions over the model. No clock, no I/O, no randomness."""

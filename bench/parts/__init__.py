"""The parts of the bench: each measures into what is kept, and says how it compares."""

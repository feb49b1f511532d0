"""Recorded tool calls of real conversations, replayed through guarded tools with seeded faults."""

from ascertain.replay.recording import Recording, RecordingError, load_recording
from ascertain.replay.run import run_replay

__all__ = ["Recording", "RecordingError", "load_recording", "run_replay"]

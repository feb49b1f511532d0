"""The main job before your eyes: an agent, its providers, and what is known when things break."""

from ascertain.demo.run import run_demo

__all__ = ["run_demo"]

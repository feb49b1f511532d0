"""Property tests have no deadline for each example: other work on the machine is no defect."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

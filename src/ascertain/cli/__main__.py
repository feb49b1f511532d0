"""``python -m ascertain.cli``."""

import sys

from ascertain.cli import main

sys.exit(main())

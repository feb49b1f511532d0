"""What a worker's process imports."""

from tests.fleet import shop

app = shop.from_environment()

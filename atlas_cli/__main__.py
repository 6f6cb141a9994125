"""`python -m atlas_cli` is `atlas`."""

from .main import run

run()

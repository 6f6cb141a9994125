"""`python -m atlas_cli` is `atlas`."""

from .start import run

run()

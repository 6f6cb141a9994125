"""Atlas: workers who cannot talk to each other share one project. Read first, write last."""

__version__ = "0.1.0"

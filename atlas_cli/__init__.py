"""Atlas: workers who cannot talk to each other share one project. Read first, write last."""

import gc

__version__ = "0.1.0"

# A command lives for a tenth of a second: looking for garbage on the way would cost a twentieth of
# that.
gc.set_threshold(100_000)

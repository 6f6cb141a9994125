"""`atlas task`: work in work.py, posting in post.py, looking in look.py and
results.py."""

from . import work as work
from .look import app as app

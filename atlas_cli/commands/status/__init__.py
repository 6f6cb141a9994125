"""`atlas status`: looking in look.py, writing in say.py."""

from . import say as say
from .look import app as app

"""AGENTS.md, which most tools read."""

from . import marked_block
from .part import Part

FILES = {"AGENTS.md": Part(marked_block.put, marked_block.take)}

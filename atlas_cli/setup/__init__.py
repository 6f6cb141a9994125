"""Texts in other people's files."""

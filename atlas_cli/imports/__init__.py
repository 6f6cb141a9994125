"""Readers of other formats: each gives new records."""

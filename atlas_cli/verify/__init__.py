"""The store judged: its history, and what a push brings."""

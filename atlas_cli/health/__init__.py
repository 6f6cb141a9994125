"""What can be wrong with a store, and what can be had again."""

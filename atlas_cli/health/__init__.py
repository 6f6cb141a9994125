"""The health of a store: what can be wrong, and what can be had again."""

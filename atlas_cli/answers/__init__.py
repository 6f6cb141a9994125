"""The state of the store, by topic: asked of the index, the notebook and the policy."""

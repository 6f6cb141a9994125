"""What is so, by topic: asked of the index, the notebook and the policy."""

"""Tokens -> features and logits."""

"""Losses -> a trained run."""

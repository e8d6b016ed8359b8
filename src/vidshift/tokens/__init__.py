"""Views -> the tokens worth it."""

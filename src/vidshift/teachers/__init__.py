"""Views -> label guesses."""

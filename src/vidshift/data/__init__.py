"""File or folder -> views."""

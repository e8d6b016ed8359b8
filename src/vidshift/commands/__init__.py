"""One function a command; its signature and docstring are its help."""

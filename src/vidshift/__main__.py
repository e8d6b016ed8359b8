"""`python -m vidshift`."""

from vidshift.cli import main

main()

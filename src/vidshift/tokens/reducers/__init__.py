"""Token reducers, one file each."""

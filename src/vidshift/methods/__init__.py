"""Features -> losses: one file a method."""

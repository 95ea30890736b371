"""What one of two systems gets right and the other does not."""

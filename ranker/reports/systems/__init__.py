"""Reports on systems: comparisons of several systems, and contrasts of two."""

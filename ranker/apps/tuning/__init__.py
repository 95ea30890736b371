"""Tuning the weights of translation systems to a metric, and choosing among their translations."""

"""Explanations of a ranker's scores and of its order of two candidates, for people to read."""

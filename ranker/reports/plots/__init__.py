"""Plots of reports: rendering, plot types, and the plots of a ranker's report."""

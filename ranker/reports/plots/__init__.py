"""Plots of reports: how one is drawn, the forms that they have, and those of a ranker's report."""

"""Checks of single outputs against their sources."""

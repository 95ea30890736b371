"""Candidates judged by the other candidates of their source."""

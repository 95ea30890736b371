"""Collecting human judgements on a local web page."""

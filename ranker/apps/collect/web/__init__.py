"""The web pages of a campaign and their server."""

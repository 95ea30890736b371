"""Bootstrap and significance tests."""

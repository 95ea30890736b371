"""Collection of human judgements with a local web server."""

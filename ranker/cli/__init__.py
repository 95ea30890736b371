"""The command line: one module a subcommand, each a thin shell over one public method."""

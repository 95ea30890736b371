"""The command line: one module per subcommand, each a thin shell over one public method."""

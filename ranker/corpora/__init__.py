"""What is judged: data sets, judgements, readers, writers and the catalogue behind ``--data``."""

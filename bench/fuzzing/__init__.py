"""Parts of `bench/fuzz.py`: sound files of every format, edits that damage them, and what commands must do."""

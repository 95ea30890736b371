"""Data frames in and out, and scikit-learn."""

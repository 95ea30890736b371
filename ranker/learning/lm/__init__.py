"""The n-gram language model: counts, interpolated modified Kneser-Ney, leave-one-out, ARPA files."""

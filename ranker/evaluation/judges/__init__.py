"""Agreement between judges: coefficients, votes, and the quality of annotators."""

"""Agreement of scores with human judgements: Kendall, Spearman, pairwise accuracy, ties."""

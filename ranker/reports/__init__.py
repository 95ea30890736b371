"""Reports: one page of HTML for a trained ranker on data, or for a comparison."""

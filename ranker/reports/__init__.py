"""HTML reports, one page each: on a trained ranker, a comparison of metrics, a comparison or contrast of systems."""

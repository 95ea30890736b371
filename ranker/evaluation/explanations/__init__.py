"""Why a ranker puts one candidate above another, in sums and words that a person understands."""

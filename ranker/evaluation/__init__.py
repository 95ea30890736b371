"""What is claimed: correlation with people, segment-level tau, intervals."""

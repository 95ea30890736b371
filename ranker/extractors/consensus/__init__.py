"""Features of a candidate's agreement with the other candidates of its source."""

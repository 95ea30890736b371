"""Files that cards of corpora give an address for: fetched, checked and put in place, when asked only."""

"""Downloads of files whose addresses are in cards of corpora: fetched, checked and put in place, on request only."""

"""Downloads of corpus files from the addresses on their cards: fetched, checked and installed only on request."""

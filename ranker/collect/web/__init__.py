"""The pages of a campaign, and the server that they come from."""

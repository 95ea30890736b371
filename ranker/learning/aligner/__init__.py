"""The word aligner: HMM and fertility models, their training, decoding and files."""

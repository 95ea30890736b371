"""The word aligner: IBM model 1 and an HMM, their training, decoding and files."""

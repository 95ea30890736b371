"""Corpora of several files: documents, test sets, assessments and the manifest that names them."""

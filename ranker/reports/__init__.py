"""Reports, each one page of HTML: a trained ranker on data, metrics compared, systems compared or contrasted."""

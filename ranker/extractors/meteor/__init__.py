"""METEOR: the metric with its matching, alignment and paraphrases, and its components as features."""

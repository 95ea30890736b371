"""Reports on systems: several compared by metrics, and two contrasted."""

"""Systems: scores and human rankings at system level, TrueSkill, score files."""

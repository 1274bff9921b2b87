"""What a change does to checks instead of to the work, told from its text alone. Pure, of the standard library only."""

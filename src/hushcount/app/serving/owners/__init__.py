"""What owners do: roles, limits, grants, saved questions, usage, the log."""

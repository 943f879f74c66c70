"""The black-box step: a mechanism as a user calls it, run many times."""

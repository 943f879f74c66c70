"""Durable budgets: what was spent, by whom, on which data; the only writer of spend."""

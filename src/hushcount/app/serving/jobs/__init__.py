"""Questions under way: checked, answered, taken over."""

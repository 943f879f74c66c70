"""The system checks: what surrounds the mechanisms must not tell what they hide."""

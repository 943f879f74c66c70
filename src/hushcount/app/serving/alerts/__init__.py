"""Alerts: what owners and operators are told at once, by signed web hooks to one place of the configuration."""

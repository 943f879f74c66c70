"""The report of an audit: as a value, as JSON and as a page."""

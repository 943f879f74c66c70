"""The HTTP interface of the service: parses, asks who calls, calls `app.serving`, and renders. It decides nothing."""

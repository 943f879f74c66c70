"""Forms: what leaves, for `openapi.json`. Answers are sent as they are stored; these only tell what is in them.

Nothing is put through these types on its way out: tests hold every answer of theirs against them. Every form is closed:
a member that is not named is never sent.
"""

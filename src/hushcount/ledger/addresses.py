"""Addresses without what must not be kept: user, password and parameters are taken out before a text is stored."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^\s\"']*)")
# What stands before an at sign, as the drivers of databases read it: up to the first slash.
_USER = re.compile(r"^(?:[^@/]*@)+")


def redact(text: str) -> str:
    """The text with every address cut down to where it points: scheme, host, port and path.

    A text that is one address as a whole is taken as a whole, since a password may hold spaces and quotes.
    """
    if "://" not in text:
        return text
    whole = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text)
    if whole is not None:
        return whole.group() + _place(text[whole.end() :])
    return _ADDRESS.sub(lambda found: found.group(1) + _place(found.group(2)), text)


def _place(rest: str) -> str:
    bare = re.split(r"[?#]", _USER.sub("", rest), maxsplit=1)[0]
    # A password with a slash in it would be left over; better to lose the host than to keep that.
    return bare.rpartition("@")[2]

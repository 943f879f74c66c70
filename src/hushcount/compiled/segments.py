"""Clips as tables, which a pass over people looks up."""

from __future__ import annotations

from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s


@frozen
class Segments:
    """Clips and ranks as tables: an item of segment n counts in all clips whose own segment is n or later.

    Attributes:
        squares: the squared amplitude of each item by id; zero where it does not count.
        of_item: the segment of each item by id.
        of_clip: the segment of each clip.
        limits: the squared radius of each clip.
        grain: what makes up for floors, in units.
        unit: what one person counts.
    """

    squares: Int64s
    of_item: Int64s
    of_clip: Int64s
    limits: Int64s
    grain: int
    unit: int

"""A figure that shows itself: in a notebook that never heard of matplotlib, too."""

from __future__ import annotations

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class Picture(Figure):
    """A figure of matplotlib with a picture of itself for whoever shows values, without any backend of windows."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        held = io.BytesIO()
        self.savefig(held, format="png", dpi=110)
        return held.getvalue()

"""A legend for all panels stands over them, and close to them."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from solvable.plot.style import figure, legend_above, letter, style


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("entries", [2, 8])
def test_a_legend_above_all_panels(rows, entries) -> None:
    with style():
        picture, axes = figure(rows, 2)
        for ax in axes.flat:
            lines = [ax.plot([0, 1], [0, i], label=f"curve {i}")[0] for i in range(entries)]
            letter(ax, "a")
        legend_above(picture, lines, 4)
        FigureCanvasAgg(picture).draw()
        box, top = picture.legends[0].get_window_extent(), max(ax.get_tightbbox().y1 for ax in np.ravel(axes))
    assert box.y1 <= picture.bbox.height
    assert 0 <= box.y0 - top < 0.15 * picture.dpi

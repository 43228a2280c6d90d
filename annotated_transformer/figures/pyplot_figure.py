"""A figure that is pyplot's current one, so that `plt.savefig` writes it, and that a notebook shows only once.

A notebook shows the value that a cell ends with, and then all pyplot figures that are still open. So in a notebook a figure
leaves pyplot once it has been shown. Windows of other backends stay open.
"""
import matplotlib
import matplotlib.figure
import matplotlib.pyplot as plt

__all__ = ["Figure"]


class Figure(matplotlib.figure.Figure):
    "Matplotlib's figure, shown only once by a notebook."

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        "Returns nothing: the notebook asks for this first, and then draws the figure like any other."
        if "inline" in matplotlib.get_backend():
            plt.close(self)
        return {}

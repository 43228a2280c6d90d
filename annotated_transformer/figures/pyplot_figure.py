"""A figure that is pyplot's current one, so that `plt.savefig` writes it, and that a notebook shows only once.

A notebook shows what a cell ends with, and after it all figures of pyplot that are still open. So a figure that has been shown
leaves pyplot there. Windows of other backends stay open.
"""
import matplotlib
import matplotlib.figure
import matplotlib.pyplot as plt

__all__ = ["Figure"]


class Figure(matplotlib.figure.Figure):
    "Matplotlib's, shown once by a notebook."

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        "Nothing of its own: the notebook asks for this first, and then draws the figure as any other."
        if "inline" in matplotlib.get_backend():
            plt.close(self)
        return {}

"""What a notebook says about its kernel: as JupyterLab writes it, so that no notebook counts as changed when it is opened.

JupyterLab also records the Python version. In the book it is fixed, so that the files are the same for all; `make lab` gives
JupyterLab the notebooks with the running version (tools/lab.py).
"""
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3}, "file_extension": ".py", "mimetype": "text/x-python",
        "name": "python", "nbconvert_exporter": "python", "pygments_lexer": "ipython3", "version": "3.11.7",
    },
}


def with_metadata(notebook: dict) -> dict:
    "The notebook with these, and with nothing else: a widget's state is of no use without its kernel."
    return notebook | {"metadata": METADATA}

"Without NLTK the package is imported and explained as ever; only who makes a tree is told what to install."
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = """
import pydoc, sys
sys.modules["nltk"] = None
import annotated_transformer
assert "Parser" in pydoc.render_doc(annotated_transformer)
from annotated_transformer import *
assert Parser is annotated_transformer.Parser and hasattr(annotated_transformer, "plot_figure")
from annotated_transformer.data.trees import Tree, linearize, repair
from annotated_transformer.parsing.evalb import bracket_scores

assert "nltk is not installed" not in pydoc.render_doc(Tree)
assert bracket_scores([], []).gold == 0
for make in (lambda: Tree("NP", ["dog"]), lambda: Tree.fromstring("(NN dog)"), lambda: repair(["XX"], ["dog"]),
             lambda: Parser.from_pretrained("nowhere")):
    try:
        make()
    except InputError as error:
        print(error)
del sys.modules["nltk"]  # now it is installed
tree = Tree.fromstring("(NP (NN dog))")
assert isinstance(tree, Tree) and isinstance(Tree("NP", ["dog"]), Tree) and not isinstance("NP", Tree)
assert linearize(tree) == ['(NP', 'XX', ')NP']
"""


def test_only_who_makes_a_tree_needs_nltk():
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == 4 * ['nltk is not installed: pip install "annotated_transformer[parsing]"']

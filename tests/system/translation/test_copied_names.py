"How many names are copied (`benchmarks.copied_names`): the mixed weights, and the count."
import copy

import torch

from benchmarks import copied_names
from benchmarks.copied_names import copied


def test_the_share_is_that_of_the_new_weights(translator, tmp_path):
    new = copy.deepcopy(translator)
    with torch.no_grad():
        new.model.embedding.weight.add_(1.0)
    translator.save_pretrained(tmp_path / "old")
    for share in (0.0, 0.25, 1.0):
        found = copied_names.mixed(tmp_path / "old", new, share).model.state_dict()
        for name, weight in translator.model.state_dict().items():
            torch.testing.assert_close(found[name], weight + share * name.endswith("embedding.weight"))


def test_a_name_is_copied_when_it_stands_there_as_a_word():
    class Parrot:
        def translate(self, sentences):
            return [sentence.replace("Vorpal", "Vorpals").replace("sleeps", "schläft") for sentence in sentences]

    found = copied(Parrot(), [("Vorpal sleeps.", "Vorpal"), ("Where is Snark?", "Snark")])
    assert (found["copied"], found["of"]) == (1, 2)
    assert found["first_not_copied"] == [{"source": "Vorpal sleeps.", "translation": "Vorpals schläft."}]

"Details of figures that no page tells: each was changed by hand without a test that noticed. Names begin with the module's."
import matplotlib.pyplot as plt
import pytest
import torch

from annotated_transformer.figures.attention_maps import KINDS, AttentionMaps
from annotated_transformer.figures.head_scores import (
    NONE,
    RESTS,
    Named,
    Tally,
    at_places,
    is_word,
    name_of,
    plot_catalogue,
    say,
    wilson,
)
from annotated_transformer.figures.token_labels import END, START


def test_head_scores_hide_only_what_no_head_sees():
    weights = torch.tensor([[[[0.0, 1.0]], [[0.5, 0.5]]]])  # one layer of two heads, one query, two keys
    tally = Tally()
    tally.add(weights, at_places(1, 2, [(0, 0)]))
    assert tally.scores.tolist() == [[0.0, 0.5]] and tally.figures()["chance"] == 0.5


def test_head_scores_hold_out_every_other_sentence():
    tally, weights = Tally(), torch.tensor([[[[0.9, 0.1]] * 3]])  # one head, three queries, two keys
    for n_queries in (1, 2, 3, 1, 2):
        tally.add(weights, at_places(3, 2, [(query, 0) for query in range(n_queries)]))
    assert tally.queries == [1 + 3 + 2, 2 + 1] and tally.sentences == 5


def test_head_scores_bound_the_rate_that_was_held_out():
    tally, weights = Tally(), torch.tensor([[[[0.9, 0.1]] * 2, [[0.1, 0.9]] * 2]])  # one head looks at key 0, the other at 1
    tally.add(weights, at_places(2, 2, [(0, 0), (1, 0)]))
    tally.add(weights, at_places(2, 2, [(0, 1)]))
    figures = tally.figures()
    assert figures["best"]["score"] == 0.6667 and figures["held_out"] == 0
    assert figures["interval"] == [round(end, 4) for end in wilson(0, 3)] != [round(end, 4) for end in wilson(2 / 3, 3)]


def test_head_scores_count_from_the_end_of_the_keys():
    tally, weights = Tally(), torch.full((1, 1, 3, 7), 1 / 7)
    for query in range(3):  # always the last key but one, at another offset each time
        tally.add(weights, at_places(3, 7, [(query, 5)]))
    tally.add(torch.full((1, 1, 3, 5), 1 / 5), at_places(3, 5, [(0, 3)]))
    assert tally.figures()["position"] == {"rule": "from the end", "number": 2, "score": 1.0}


def test_head_scores_name_the_nearest_of_equal_rules_and_an_offset_first():
    tally, weights = Tally(), torch.full((1, 1, 4, 4), 1 / 4)
    tally.add(weights, at_places(4, 4, [(0, 3), (1, 2), (3, 0), (2, 3)]))  # offsets 3, 1, -3, 1: twice one; places 4, 3, 1, 4
    assert tally.figures()["position"] == {"rule": "offset", "number": 1, "score": 0.5}
    tally = Tally()
    tally.add(weights, at_places(4, 4, [(0, 3), (2, 0), (3, 2)]))  # each offset once
    assert tally.figures()["offset"]["number"] == -1


@pytest.mark.parametrize("number, said", [(0, "offset 0"), (1, "offset +1"), (-10, "offset -10"), (10, "offset +10")])
def test_head_scores_say_an_offset_with_its_sign(number, said):
    assert say({"rule": "offset", "number": number}) == said


def test_head_scores_take_for_a_word_what_has_a_letter_or_a_digit():
    assert is_word(["a", "7", "·b.", "§3", "·,", "...", START, END]).tolist() == 4 * [True] + 4 * [False]


def test_head_scores_take_ten_points_for_ten_points_whatever_the_last_digit():
    assert 0.3 - 0.2 < 0.1  # of floats
    found = {"scores": [[0.3]], "queries": 10_000, "chance": 0.2, "position": {"rule": "place", "number": 1, "score": 0.1}}
    figures = {"measures": {"encoder": {"object's verb": found}}, "untrained": {"encoder": {"object's verb": {"held_out": 0.1}}},
               "resting": {"encoder": [[0.2]]}}
    assert name_of(figures, "encoder", 0, 0).name == "object's verb"
    found["scores"] = [[0.2999]]
    assert name_of(figures, "encoder", 0, 0).name == NONE


def test_head_scores_draw_the_first_layer_on_top_and_the_sign_on_which_a_head_rests():
    rests = Named(RESTS, None, None, 0.75)
    figure = plot_catalogue({kind: [[rests], [rests]] for kind in KINDS}, {kind: [[-0.0002], [0.5]] for kind in KINDS})
    for axis, kind in zip(figure.axes, KINDS):
        sign = START if kind == "decoder" else END
        texts = sorted((round(text.get_position()[1]), text.get_text()) for text in axis.texts)
        assert texts == [(1, "+0.000"), (1, "75%"), (1, f"rests on {sign}"), (2, "+0.500"), (2, "75%"), (2, f"rests on {sign}")]
        assert axis.get_ylim() == (2.5, 0.5) and axis.get_ylabel() == "layer"
    plt.close(figure)


def test_head_scores_have_wilsons_interval():
    # The ends are where the rate that was seen lies 1.96 standard deviations of a binomial away.
    for rate, n in ((0.5, 10), (0.1, 20), (0.98, 166)):
        for end in wilson(rate, n):
            assert abs(rate - end) == pytest.approx(1.96 * (end * (1 - end) / n) ** 0.5)


def test_attention_maps_count_from_one_in_their_table():
    weights = torch.tensor([[[[0.25, 0.75]], [[0.5, 0.5]]]])  # (1 layer, 2 heads, 1 query, 2 keys)
    maps = AttentionMaps.from_tensors(encoder_decoder=weights, source=["a", "b"], target=["x"])
    found = [(row["layer"], row["head"], row["query"], row["query_token"], row["key"], row["key_token"], row["weight"])
             for row in maps.table()]
    assert found == [(1, 1, 1, "x", 1, "a", 0.25), (1, 1, 1, "x", 2, "b", 0.75),
                     (1, 2, 1, "x", 1, "a", 0.5), (1, 2, 1, "x", 2, "b", 0.5)]

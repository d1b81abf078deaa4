"""What somebody who knows the chain guesses from releases."""

from collections.abc import Callable
from typing import Any

import pytest

import veilwalk as vw

CHAIN = vw.Chain.credit()


def mechanism(name: str = "cell", epsilon: float = 3.5) -> vw.Mechanism:
    return vw.Mechanism(name, CHAIN, epsilon=epsilon, radius=3.5)


def test_figures_are_those_of_the_command(command_json: Callable[..., dict[str, Any]]) -> None:
    found = mechanism().attack(walks=100, steps=20).to_dict()
    line = "attack --chain credit --mechanism cell --epsilon 3.5 --radius 3.5 --walks 100 --steps 20"
    told = command_json(*line.split())
    for key in ("state", "first", "last", "most_visited", "whole_walk", "odds", "efficiency", "walks"):
        assert found[key] == told[key], key


def test_a_guarantee_of_the_command_has_the_same_figures(
    command_json: Callable[..., dict[str, Any]],
) -> None:
    line = "guarantee --chain credit --mechanism cell --epsilon 3.5 --radius 3.5"
    told = command_json(*line.split())["attacker"]
    found = mechanism().attack(walks=told["walks"], steps=told["steps"]).to_dict()
    for key in ("state", "first", "last", "most_visited", "whole_walk", "odds", "efficiency"):
        assert found[key] == told[key], key


def test_what_is_shown() -> None:
    found = mechanism().attack(walks=100, steps=20)
    assert found.state > 2 * found.state_without_release
    assert 0 <= found.whole_walk <= found.state
    assert found.odds["median"] >= 1
    assert "a state" in str(found)
    assert "guessed right" in repr(found)
    assert "<table" in found._repr_html_()


def test_real_walks_and_other_priors() -> None:
    walks = CHAIN.sample(30, 10, seed=1)
    with pytest.warns(vw.PrivacyWarning, match="NOT protected"):
        real = mechanism("tight").attack(real=walks)
    assert real.to_dict()["walks"] == 30
    other = vw.Chain.from_transitions([("a", "b", 1.0), ("b", "a", 1.0)])
    with pytest.raises(vw.ParameterError, match="has no state"):
        mechanism().attack(prior=other)
    with pytest.raises(vw.ParameterError, match="real walks bring their own"):
        mechanism().attack(real=walks, start="B")
    with pytest.raises(vw.ParameterError, match="walks"):
        mechanism().attack(walks=1)


def test_the_plot_has_a_curve_for_each_mechanism() -> None:
    pytest.importorskip("matplotlib")
    figure = mechanism().plot_attack(walks=20, steps=10)
    labels = {line.get_label() for line in figure.axes[0].get_lines()}
    assert {"cell", "sharp", "tight", "the chain alone"} <= labels


def test_a_guarantee_says_what_is_guessed(credit: vw.Chain) -> None:
    mechanism = vw.Mechanism("cell", credit, epsilon=3.5, radius=3.5)
    said = mechanism.guarantee()
    attacker = said.attacker
    assert attacker is not None
    assert attacker["state"]["attacker"] > 2 * attacker["state"]["chain_alone"]
    share = round(100 * attacker["state"]["attacker"])
    assert f"guesses a state of a walk right {share} times in 100" in attacker["in_words"]
    assert "What somebody who knows the chain can guess" in str(said)
    assert attacker["in_words"][:40] in " ".join(str(said).split())
    assert attacker["in_words"][:40] in said._repr_html_()
    assert mechanism.guarantee(attack=False).attacker is None
    in_blocks = mechanism.guarantee(block=2)
    assert in_blocks.attacker is None
    with pytest.raises(vw.ParameterError, match="block"):
        mechanism.guarantee(block=2, attack=True)
    empty = vw.Mechanism("sharp", credit, epsilon=1, radius=1).guarantee()
    assert empty.attacker is None

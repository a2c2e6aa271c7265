"""A frozen layer stays as it was, and whoever looks at all layers sees an ordinary dictionary."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from driftwise.online import load
from driftwise.online.bandits import pending_files
from driftwise.online.bandits.layers import Layers
from tests.online.streams import make


@pytest.mark.parametrize("seed", range(4))
def test_layers_are_an_ordered_dictionary_whatever_is_frozen_meanwhile(seed):
    rng, layers, plain = np.random.default_rng(seed), Layers(), OrderedDict()
    frozen, was = {}, {}
    for number in range(400):
        action = rng.integers(8)
        if action < 4:
            layers[number] = plain[number] = -number
        elif action == 4 and plain:
            key = int(rng.choice(list(plain)))
            del layers[key], plain[key]
        elif action == 5 and plain:
            assert layers.pop_oldest() == plain.popitem(last=False)[0]
        elif action == 6:
            frozen = layers.freeze()
            was = dict(plain)
        elif action == 7:
            layers.thaw()
            frozen, was = {}, {}
        assert list(layers.items()) == list(plain.items())
        assert len(layers) == len(plain)
        assert dict(frozen) == was


def test_a_key_that_left_may_come_back_while_it_is_frozen():
    layers: Layers[str, int] = Layers()
    layers["a"], layers["b"] = 1, 2
    frozen = layers.freeze()
    del layers["a"]
    layers["a"] = 3
    assert dict(frozen) == {"a": 1, "b": 2}
    layers.thaw()
    assert list(layers.items()) == [("b", 2), ("a", 3)]
    with pytest.raises(KeyError):
        del layers["c"]


def test_a_file_is_of_one_moment_although_decisions_and_rewards_go_on(tmp_path, monkeypatch):
    bandit = make(max_pending=4)
    decisions = [bandit.decide(np.eye(3)) for _ in range(4)]
    slowly = pending_files._slowly

    def meanwhile(values):
        monkeypatch.setattr(pending_files, "_slowly", slowly)
        bandit.learn(decisions[2].id, 0.5)
        bandit.decide(np.eye(3))
        bandit.decide(np.eye(3))  # the oldest expires
        return slowly(values)

    monkeypatch.setattr(pending_files, "_slowly", meanwhile)
    bandit.save(tmp_path / "agent.safetensors")
    restored = load(tmp_path / "agent.safetensors")
    assert [each.id for each in restored.pending()] == [each.id for each in decisions]
    assert (restored.summary().rewards, bandit.summary().rewards) == (0, 1)
    assert [each.id for each in bandit.pending()][:2] == [decisions[1].id, decisions[3].id]
    assert len(bandit.pending()) == 4

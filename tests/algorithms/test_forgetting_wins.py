"""On the combination lock, forgetting beats its stationary base by more than chance."""

import pytest

import driftwise as dw
from driftwise.experiments import EXPERIMENTS, run_experiment

PAIRS = {  # a forgetting agent and its stationary base
    "OPT-WLSVI": "LSVI-UCB",
    "SW-LSVI-UCB": "LSVI-UCB",
    "LSVI-UCB-Restart": "LSVI-UCB",
    "OPT-RLSVI, forgetting": "OPT-RLSVI",
    "MatrixRL, forgetting": "MatrixRL",
    "OPPO, forgetting": "OPPO",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["combination_lock_abrupt", "combination_lock_gradual"])
def test_forgetting_beats_its_stationary_base(name: str) -> None:
    """The runs are paired by their seeds: the 95 % interval of the difference is above zero."""
    outcomes = {outcome.label: outcome.result for outcome in run_experiment(EXPERIMENTS[name])}
    tested = {label: base for label, base in PAIRS.items() if label in outcomes}
    assert len(tested) >= 5
    for label, base in tested.items():
        final = [outcomes[each].cumulative_regret[:, -1] for each in (base, label)]
        mean, half_width = dw.statistics.mean_interval(final[0] - final[1])
        assert mean - half_width > 0, (label, float(mean), float(half_width))

"""`driftwise tune` by theory's bounds."""

from __future__ import annotations

from typing import Any

from driftwise.analysis.bounds import (
    bounds_table,
    caution,
    choosers,
    content,
    legend,
    rates_table,
    tunings_table,
)
from driftwise.analysis.studies import agents_table, setting_of
from driftwise.analysis.terminal import paragraph
from driftwise.cli.app import InputError, check, json_text, print_table
from driftwise.experiments.files import find_study
from driftwise.theory.bounds.advice import Advice, advise, require_possible_variation
from driftwise.theory.bounds.bound import Problem, Setting


def tune_sizes(problem: Problem, *sizes: Any, as_json: bool, **assumed: Any) -> None:
    """Print tunings, bounds and a recommendation for the `Setting` of these sizes."""
    setting = check(Setting, *sizes, **assumed)
    check(require_possible_variation, "--variation", setting, problem)
    advice = check(advise, setting, problem)
    if as_json:
        print(json_text(content(setting, problem, advice)))
        return
    print_table(tunings_table(setting, problem))
    print_table(bounds_table(setting, problem))
    print_table(rates_table(setting, problem))
    print(f"{paragraph(legend(setting, problem))}\n")
    print(f"If the variation is not known, {choosers(setting, problem)}.\n")
    print(f"{paragraph(caution(problem))}\n")
    _print_advice(advice)


def tune_experiment(file_or_name: str, episodes: int | None, given: dict[str, Any], *, as_json: bool) -> None:
    """Print the same for every environment of an experiment, beside the numbers of its agents there."""
    study, found = check(find_study, file_or_name, num_episodes=episodes), {}
    for label, environment in study.environments.items():
        try:
            problem, setting = setting_of(environment, study.lengths[label], **given)
            found[label] = setting, problem, advise(setting, problem)
        except ValueError as error:
            raise InputError(f"{file_or_name}: {label}: {error}") from None
    if as_json:
        print(json_text({label: content(*each) for label, each in found.items()}))
        return
    for label, (setting, problem, advice) in found.items():
        sizes = f"d = {setting.dim}, H = {setting.horizon}, K = {setting.num_episodes:,}"
        print(f"{label}: {problem}, {sizes}, Δ = {setting.variation:.4g}\n\nThe agents of the experiment")
        print_table(agents_table(study, [label]).without("environment"))
        print_table(tunings_table(setting, problem))
        print_table(bounds_table(setting, problem))
        _print_advice(advice)
        print()
    for setting, problem in {problem: (setting, problem) for setting, problem, _ in found.values()}.values():
        print(f"{paragraph(legend(setting, problem))}\n")
        print(paragraph(caution(problem)))


def _print_advice(advice: Advice) -> None:
    print(paragraph(f"Recommendation. {' '.join(advice.sentences)}"))

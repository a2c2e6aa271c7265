"""Tests of what our lab adds: the contracts of driftwise do the work."""

from __future__ import annotations

import mylab

import driftwise as dw


def test_the_drift_keeps_its_contract():
    dw.checks.check_drift(mylab.Blinking(every=30, share=0.2))


def test_the_environment_keeps_its_contract():
    dw.checks.check_environment(mylab.two_doors(drift=mylab.Blinking(every=12)))


def test_the_forgetting_keeps_its_contract():
    dw.checks.check_forgetting(mylab.SoftRestart(period=7, share=0.3))


def test_the_exploration_keeps_its_contract():
    dw.checks.check_exploration(mylab.CappedUcb(radius=0.5, cap=0.2))


def test_the_detector_keeps_its_contract():
    dw.checks.check_detector(mylab.Drop())


def test_the_algorithm_keeps_its_contract():
    environment = mylab.two_doors(drift=mylab.Blinking(every=12))
    agent = mylab.soft_restart_ucb(environment.spec, period=5, radius=0.3)
    dw.checks.check_agent(agent, environment, num_episodes=20)

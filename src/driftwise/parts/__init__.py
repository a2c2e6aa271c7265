"""Parts: the pieces that algorithms are made of."""

from driftwise.parts.change_tests import ChangeTest, EllipsoidTest, LinkTest, MeansTest
from driftwise.parts.clock import ClockWeights
from driftwise.parts.detectors import Cusum, Detector, Glr, RandomRestart
from driftwise.parts.experts import Exp3, FixedShare, exp3, exp3_p, exp3_s
from driftwise.parts.exploration import (
    CautiousUcb,
    EpsilonGreedy,
    Exploration,
    Greedy,
    InverseGap,
    RandomisedUcb,
    Softmax,
    Thompson,
    TruncatedThompson,
    Ucb,
    Uniform,
    Unperturbed,
)
from driftwise.parts.forgetting import (
    DirectionalForgetting,
    ExponentialWeights,
    NoForgetting,
    PeriodicRestart,
    RestartAt,
    SlidingWindow,
)
from driftwise.parts.known_model import ExactInverse, GeometricResampling
from driftwise.parts.least_squares import Caution, LeastSquares
from driftwise.parts.link_regression import MirrorDescent, WeightedLikelihood
from driftwise.parts.links import LINKS, Identity, Link, Logistic, LogLink, link_from_name
from driftwise.parts.noise import LearntNoise
from driftwise.parts.radii import (
    BernsteinRadius,
    ConfidenceRadius,
    CountRadius,
    LocalVariationRadius,
    MirrorDescentRadius,
    MixtureRadius,
    Phases,
    SelfConcordantRadius,
)
from driftwise.parts.value_targeted import ValueTargeted, VarianceWeights

__all__ = ["LINKS", "BernsteinRadius", "Caution", "CautiousUcb", "ChangeTest", "ClockWeights"]
__all__ += ["ConfidenceRadius", "CountRadius", "Cusum", "Detector", "DirectionalForgetting"]
__all__ += ["EllipsoidTest", "EpsilonGreedy", "ExactInverse", "Exp3", "Exploration", "ExponentialWeights"]
__all__ += ["FixedShare", "GeometricResampling", "Glr", "Greedy", "Identity", "InverseGap", "LearntNoise"]
__all__ += ["LeastSquares", "Link", "LinkTest", "LocalVariationRadius", "LogLink", "Logistic", "MeansTest"]
__all__ += ["MirrorDescent", "MirrorDescentRadius", "MixtureRadius", "NoForgetting", "PeriodicRestart"]
__all__ += ["Phases", "RandomRestart", "RandomisedUcb", "RestartAt", "SelfConcordantRadius"]
__all__ += ["SlidingWindow", "Softmax", "Thompson", "TruncatedThompson", "Ucb", "Uniform", "Unperturbed"]
__all__ += ["ValueTargeted", "VarianceWeights", "WeightedLikelihood", "exp3", "exp3_p", "exp3_s"]
__all__ += ["link_from_name"]

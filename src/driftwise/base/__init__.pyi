# Written by `make generated` from the names of driftwise.base.
Array = Any
Key = Any
Numeric = Any
__version__: str
from driftwise.base.agent import Agent as Agent
from driftwise.base.agent import Forecaster as Forecaster
from driftwise.base.agent import Wrapper as Wrapper
from driftwise.base.knowledge import AnchorMeasures as AnchorMeasures
from driftwise.base.knowledge import Continuing as Continuing
from driftwise.base.knowledge import FixedTransitions as FixedTransitions
from driftwise.base.knowledge import InitialDistribution as InitialDistribution
from driftwise.base.knowledge import MeanRewards as MeanRewards
from driftwise.base.knowledge import OptimalDesign as OptimalDesign
from driftwise.base.knowledge import Positions as Positions
from driftwise.base.knowledge import RowProducts as RowProducts
from driftwise.base.knowledge import SharedSteps as SharedSteps
from driftwise.base.knowledge import SuccessorProjection as SuccessorProjection
from driftwise.base.part import choice as choice
from driftwise.base.part import count as count
from driftwise.base.part import expand_grid as expand_grid
from driftwise.base.part import from_config as from_config
from driftwise.base.part import is_part as is_part
from driftwise.base.part import member as member
from driftwise.base.part import members as members
from driftwise.base.part import number as number
from driftwise.base.part import record as record
from driftwise.base.part import scalar as scalar
from driftwise.base.part import stack_parts as stack_parts
from driftwise.base.part import to_config as to_config
from driftwise.base.types import Episode as Episode
from driftwise.base.types import FeatureTable as FeatureTable
from driftwise.base.types import Forecast as Forecast
from driftwise.base.types import Forgetting as Forgetting
from driftwise.base.types import Model as Model
from driftwise.base.types import Moments as Moments
from driftwise.base.types import Plan as Plan
from driftwise.base.types import Radius as Radius
from driftwise.base.types import Sample as Sample
from driftwise.base.types import Spec as Spec
from driftwise.base.types import Variation as Variation
from driftwise.base.types import WeightFunction as WeightFunction
from driftwise.base.validation import ArgumentError as ArgumentError
from typing import Any as Any

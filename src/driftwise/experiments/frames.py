"""Results as data frames: a row for each agent, run and point, and the numbers of agents as columns."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from driftwise.base.extras import needed_by
from driftwise.base.parameters import parameters
from driftwise.experiments.storage import read_manifest, read_table

if TYPE_CHECKING:
    import pandas as pd

PARAMETERS = "parameters"  # a column of configurations, as JSON
CLASH = "agent."  # begins the name of a parameter where a column is called like it


def load_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The results in a folder that `driftwise run` wrote, a row for each agent, run and point."""
    return results_frame(read_table(Path(folder), read_manifest(Path(folder))))


def results_frame(table: pa.Table) -> pd.DataFrame:
    """A table of results, with a column for each number of an agent; it is NaN for agents without it."""
    with needed_by("a data frame", "cli"):
        import pandas as pd
    frame = table.to_pandas()
    codes, texts = pd.factorize(frame.pop(PARAMETERS))
    numbers = [parameters(json.loads(text)) for text in texts]
    place = frame.columns.get_loc("agent")
    for name in dict.fromkeys(name for each in numbers for name in each):
        values = np.array([each.get(name, np.nan) for each in numbers])
        place += 1
        frame.insert(place, f"{CLASH}{name}" if name in frame else name, values[codes])
    return frame

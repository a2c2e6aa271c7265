"""Progress of what takes a while: a bar, in a terminal or a notebook, or whatever a function makes of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from driftwise.base.extras import needed_by
from driftwise.base.validation import ArgumentError

Watcher = Callable[..., None]  # episodes done, episodes in all, and what else there is to say


@contextlib.contextmanager
def watched(progress: bool | Watcher, say: Callable[..., str], first: str = "") -> Iterator[Watcher]:
    """A function to call with progress: the given one, one that does nothing, or for True one with a bar.

    The bar shows what `say` makes of the arguments, and until it is called for the first time `first`.
    """
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda *now: None
    elif progress is True:
        with needed_by("progress=True", "cli"):
            from rich.progress import Progress
        with Progress() as bar:
            task = bar.add_task(first, total=None)
            yield lambda done, total, *more: bar.update(
                task, completed=done, total=total, description=say(done, total, *more)
            )
    else:
        raise ArgumentError("progress", "be True, False or a function", progress)

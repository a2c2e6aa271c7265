"""A dictionary that can be read at leisure as it was at one moment, while others go on changing it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Layers(MutableMapping[K, V]):
    """Values by keys, in the order in which they came; values stay as they are.

    `freeze` puts everything aside at once, whatever its size: until `thaw`, that layer stays as it is, new
    keys go into a layer of their own, and those that leave are remembered as gone.
    """

    def __init__(self) -> None:
        # A plain dict would search past all that was removed for its first.
        self._newer: OrderedDict[K, V] = OrderedDict()
        self._frozen: OrderedDict[K, V] = OrderedDict()
        self._gone: set[K] = set()
        self._ahead: Iterator[K] = iter(())  # of the frozen keys: none before the next of them is still there

    def freeze(self) -> Mapping[K, V]:
        """All there is; nobody writes to it before `thaw`."""
        self.thaw()  # who froze it last may not have come to that: a fork has no other threads
        self._frozen, self._newer = self._newer, OrderedDict()
        self._ahead = iter(self._frozen)
        return self._frozen

    def thaw(self) -> None:
        """Let the frozen layer follow what has happened since."""
        if not self._frozen:
            return
        self._ahead = iter(())
        for key in self._gone:
            del self._frozen[key]
        self._frozen.update(self._newer)
        self._frozen, self._newer, self._gone = OrderedDict(), self._frozen, set()

    def pop_oldest(self) -> K:
        """Remove the key that came first, and return it."""
        for key in self._ahead:
            if key not in self._gone:
                self._gone.add(key)
                return key
        return self._newer.popitem(last=False)[0]

    def __getitem__(self, key: K) -> V:
        return self._frozen[key] if self._is_frozen(key) else self._newer[key]

    def __setitem__(self, key: K, value: V) -> None:
        if self._frozen and self._is_frozen(key):
            self._gone.add(key)
        self._newer[key] = value

    def __delitem__(self, key: K) -> None:
        if self._frozen and self._is_frozen(key):
            self._gone.add(key)
        else:
            del self._newer[key]

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._frozen if key not in self._gone)
        yield from self._newer

    def __len__(self) -> int:
        newer = len(self._newer)
        return newer + len(self._frozen) - len(self._gone) if self._frozen else newer

    def _is_frozen(self, key: K) -> bool:
        return key in self._frozen and key not in self._gone

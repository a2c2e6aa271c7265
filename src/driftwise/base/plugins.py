"""Registries of functions by name, and plugins: modules of others that register more when they are imported.

An installed package names its module as an entry point of the group `driftwise.plugins`; other modules are
asked for by their names.
"""

import functools
import importlib
import os
import pkgutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any, NamedTuple, TypeVar

from driftwise.base.validation import ArgumentError, require_choice

T = TypeVar("T")


class Plugins(NamedTuple):
    """Modules that were imported, and folders in which they were looked for besides `sys.path`."""

    modules: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


VERSIONS: dict[str, str] = {}  # of the packages of plugins, by the modules that were imported
_folders: dict[str, None] = {}


def load_plugins(modules: Sequence[str] = (), folders: Sequence[str] = (), *, name: str = "import") -> None:
    """Import plugins of installed packages, and `modules`, also from `folders`; errors call them `name`."""
    _load_installed()
    if isinstance(modules, str) or not all(
        isinstance(module, str) and all(part.isidentifier() for part in module.split("."))
        for module in modules
    ):
        raise ArgumentError(name, "be names of modules, as mylab or mylab.drifts", list(modules))
    for folder in folders if modules else ():
        _folders[folder] = None
        if folder not in sys.path:
            sys.path.append(folder)  # the last, so that a file hides no installed package
    for module in modules:
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:
            got = f"{module!r}: {_reason(error)}"
            raise ArgumentError(name, "be modules that can be imported", module, got) from error
        VERSIONS.setdefault(module, _version_of(module))


def loaded_plugins() -> Plugins:
    """All that was imported in this process, for another one to import."""
    return Plugins(tuple(VERSIONS), tuple(_folders))


def require_unique_name(noun: str, registry: Any, entry: Any) -> None:
    """Refuse a second thing of a name; the same one, defined once more, takes the place of the first."""
    known = registry.get(entry.__name__, entry)
    if (known.__module__, known.__qualname__) != (entry.__module__, entry.__qualname__):
        got = f"a second {entry.__name__!r}, of {entry.__module__} beside {known.__module__}"
        raise ValueError(f"{noun} must have a name of its own, got {got}")


@functools.cache
def _load_installed() -> None:
    """Import what installed packages offer; one that fails is left out with a warning, and hinders nobody."""
    for entry in entry_points(group="driftwise.plugins"):
        try:
            entry.load()
        except (Exception, SystemExit) as error:
            message = f"the plugin {entry.value} cannot be imported and is left out: {_reason(error)}"
            warnings.warn(message, stacklevel=3)
        else:
            VERSIONS[entry.module] = entry.dist.version if entry.dist else _version_of(entry.module)


def _version_of(module: str) -> str:
    try:
        return version(module.partition(".")[0])
    except PackageNotFoundError:
        return "not installed"


def _reason(error: BaseException) -> str:
    """An error of a module's code in one line, with the place it comes from."""
    message = " ".join(f"{type(error).__name__}: {error}".split())
    place = traceback.extract_tb(error.__traceback__)[-1]
    if isinstance(error, SyntaxError) or place.filename.startswith("<frozen importlib"):
        return message  # it names the place itself
    return f"{message} ({os.path.basename(place.filename)}, line {place.lineno})"


class Registry(dict[str, T]):
    """Registered entries by their names; errors call one a `noun`, such as `"algorithm"`."""

    def __init__(self, noun: str) -> None:
        super().__init__()
        self.noun = noun
        self._listeners: list[Callable[[str, T], None]] = []

    def add(self, entry: Any) -> None:
        """Add an entry under its `__name__`; a second one of that name is refused."""
        require_unique_name(f"an {self.noun}", self, entry)
        self[entry.__name__] = entry
        for listener in self._listeners:
            listener(entry.__name__, entry)

    def find(self, name: str) -> T:
        """Return the entry of that name, after loading the plugins if it is not there."""
        if name not in list(self):  # a list: a name from a file may be unhashable
            load_plugins()
        return self[require_choice(self.noun, name, list(self))]

    def subscribe(self, listener: Callable[[str, T], None]) -> None:
        """Call a function with the name and the entry of everything registered, now and later."""
        for name, entry in self.items():
            listener(name, entry)
        self._listeners.append(listener)

    def attribute(self, module: str, name: str) -> T:
        """Return the entry as an attribute of a module: what plugins register later is one, too."""
        if name not in self:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return self[name]


def import_modules(path: Iterable[str], package: str) -> None:
    """Import all modules of a package, so that they register what they define."""
    for module in pkgutil.walk_packages(path, f"{package}."):
        importlib.import_module(module.name)

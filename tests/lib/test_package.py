"""The package's own page names what there is."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import shardwise


def test_the_docstring_lists_every_public_module():
    listed = re.findall(r"^    (\w+)  +\S", shardwise.__doc__, flags=re.MULTILINE)
    modules = {module.name for module in pkgutil.iter_modules(shardwise.__path__)}
    assert sorted(listed) == sorted(name for name in modules if not name.startswith("_"))


def test_what_a_module_offers_is_there_and_explained():
    for module in pkgutil.walk_packages(shardwise.__path__, "shardwise."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        found = importlib.import_module(module.name)
        assert found.__doc__, module.name
        offered = [getattr(found, name) for name in getattr(found, "__all__", ())]
        for thing in offered:
            if inspect.isclass(thing) or inspect.isfunction(thing):
                assert thing.__doc__, thing

"""Traits that widgets of one kernel share because their `link` names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import traitlets

from shardwise_widgets._checks import TraitTypeError, TraitValueError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardwise_widgets.base import ShardwiseWidget


def check_link(link: object, traits: Sequence[str], owner: str) -> tuple[str, ...]:
    """Return the names in a link, each once.

    Example:
        >>> check_link("devices, step", ["devices", "step"], "RingAllReduce")
        ('devices', 'step')
        >>> check_link("n", ["devices", "step"], "Ring")
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: link='n' must name traits of Ring: devices, step
    """
    if link is None:
        return ()
    if not isinstance(link, str):
        raise TraitTypeError(f"link={shown(link)} must be a text such as {traits[0]!r}")
    names = tuple(dict.fromkeys(name.strip() for name in link.split(",")))
    if not set(names) <= set(traits):
        raise TraitValueError(
            f"link={shown(link)} must name traits of {owner}: {', '.join(traits)}"
        )
    return names


class Links:
    """Who shares which trait. It keeps no widget alive."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._groups: dict[str, WeakSet[ShardwiseWidget]] = {}

    def join(self, name: str, widget: ShardwiseWidget) -> None:
        """Share a trait from now on; the newcomer's value is everyone's."""
        self._groups.setdefault(name, WeakSet()).add(widget)
        widget.observe(self._spread, name)
        self._spread({"name": name, "owner": widget, "new": getattr(widget, name)})

    def leave(self, widget: ShardwiseWidget) -> None:
        """Share nothing of a widget any more."""
        for name, group in self._groups.items():
            if widget in group:
                group.discard(widget)
                widget.unobserve(self._spread, name)

    def _spread(self, change: dict[str, Any]) -> None:
        name, owner, value = change["name"], change["owner"], change["new"]
        for other in self._groups[name] - {owner}:
            try:
                setattr(other, name, value)
            except traitlets.TraitError as error:
                other.note = (
                    f"{type(owner).__name__} has {name} {shown(value)}, "
                    f"which isn't shown here: {error}"
                )
            else:
                other.note = ""

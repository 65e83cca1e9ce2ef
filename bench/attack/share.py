"""How much of a resource one source takes, and how much of their fair share the others get."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Share:
    """``took``: what the one source held or used at the end, and ``got`` what each of the others did. ``due``: what
    each of the others should have: its demand, or an equal part of the resource where all demand more. ``unit`` names
    what is counted."""

    took: float
    got: list[float]
    due: float
    unit: str

    @property
    def worst(self) -> float:
        """The smallest fraction of its due share that a source got; at most 1."""
        return min(1.0, min(self.got) / self.due)

    @property
    def said(self) -> str:
        """The figures for people."""
        others = f"{min(self.got):.3g} to {max(self.got):.3g} for each of {len(self.got)} others, of {self.due:.3g}"
        return f"{self.took:.3g} {self.unit} for one source; {others}"

    def as_json(self) -> dict[str, Any]:
        """What leaves the guest."""
        return asdict(self)

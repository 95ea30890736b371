"""Settings of a campaign."""

from __future__ import annotations

from dataclasses import dataclass

from ranker.apps.collect.tasks import KINDS, KindName, Next, Show, TaskKind

DEFAULT_PORT = 8765
DEFAULT_ADDRESS = f"http://127.0.0.1:{DEFAULT_PORT}"


@dataclass(frozen=True)
class CampaignSettings:
    """Settings of a campaign; the options of ``ranker collect new`` describe them.

    `id` distinguishes the cookies of several campaigns on one computer; `gold`, `degraded` and `repeat` are proportions
    of a judge's items; `show_gold` shows judges the known answer after theirs; `url` is the public address, and
    `served` the one at which the campaign was served last; `categories` are error categories, one per line;
    `prefill` is the origin of the marks that judges start from; `severities` are error severities, separated by commas,
    if they are not the kind's defaults.
    """

    id: str
    title: str
    kind: KindName
    show: Show
    next: Next = "uniform"
    judges_per_item: int = 1
    overlap: float = 0.2
    gold: float = 0.0
    degraded: float = 0.05
    repeat: float = 0.05
    quota: int | None = None
    min_seconds: float = 2.0
    seed: int = 0
    show_gold: bool = False
    url: str | None = None
    served: str | None = None
    categories: str | None = None
    prefill: str | None = None
    severities: str | None = None

    @property
    def task(self) -> TaskKind:
        """Kind of task, with the campaign's severities."""
        kind = KINDS[self.kind]
        return kind if self.severities is None else kind.with_severities(self.severities.split(","))

    @property
    def shows_source(self) -> bool:
        """True if judges see the source, and can mark errors in it."""
        return self.show in ("source", "both")

    @property
    def category_names(self) -> list[str]:
        """Error categories to choose from; empty for kinds of tasks without categories."""
        return self.categories.split("\n") if self.categories else []

    @property
    def address(self) -> str:
        """Address with which personal links begin."""
        return (self.url or self.served or DEFAULT_ADDRESS).rstrip("/")

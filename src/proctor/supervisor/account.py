"""The live budget account: what a session has used, counted from outside where the worker cannot argue.

It belongs to the supervisor alone. Totals begin where the journal left them and only grow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from proctor.budget import burn
from proctor.budget.dimensions import Ceiling, Usage, add, larger, merge_tokens
from proctor.budget.thresholds import Binding, binding
from proctor.doors.gateway import prices
from proctor.journal.events import Figure, ModelCall
from proctor.journal.state import metered
from proctor.words import Dimension, Source

SPARK_BARS = 16
MAX_SAMPLES = 4000


@dataclass(slots=True)
class Meter:
    """What one iteration used so far.

    `metered` is what the gateway measured. Once there is any, what the worker reports of itself and what is estimated
    from its output count no more; where there is a `gateway` to come through, not before the iteration's end, and never
    for an `agent`.
    """

    model: str | None = None
    gateway: bool = False
    agent: bool = False
    metered: dict[Dimension, Figure] = field(default_factory=dict)
    reported: Usage | None = None
    reported_cost: int = 0
    estimated: Usage = field(default_factory=Usage)
    tools: int = 0
    unpriced: bool = False


class Account:
    """Counts every dimension; `figures()` are session totals."""

    def __init__(
        self,
        used: Mapping[Dimension, Figure],
        born: datetime,
        overrides: Mapping[str, prices.Rates],
        monotonic: Callable[[], float],
    ) -> None:
        self._base = dict(used)
        self._born = born
        self._overrides = overrides
        self._monotonic = monotonic
        self._active = float(used.get(Dimension.WALL_CLOCK, Figure(0)).used)
        self._since: float | None = None
        self._meter: Meter | None = None
        self._unpriced = False
        self._begin: dict[Dimension, int] = {}
        self._blast: dict[Dimension, Figure] = {}
        self._samples: dict[Dimension, list[burn.Sample]] = {}

    # --- clocks -------------------------------------------------------------------------------

    def clock(self, running: bool) -> None:
        """Start or stop the active clock; repeating either changes nothing."""
        now = self._monotonic()
        if self._since is not None:
            self._active += (now - self._since) * 1000
        self._since = now if running else None

    @property
    def active_ms(self) -> int:
        """Active time of the session in milliseconds: no waits for people, limits or suspends."""
        running = 0.0 if self._since is None else (self._monotonic() - self._since) * 1000
        return int(self._active + running)

    # --- one iteration ------------------------------------------------------------------------

    def begin(
        self,
        model: str | None,
        since: Mapping[Dimension, Figure] | None = None,
        *,
        gateway: bool = False,
        agent: bool = False,
    ) -> None:
        """An iteration begins: what it uses is counted apart, from the totals in `since` or those of now on."""
        self._begin = {dimension: figure.used for dimension, figure in (since or self.figures()).items()}
        self._meter = Meter(model, gateway, agent)

    def meter(self, call: ModelCall) -> None:
        """One model call, as the gateway measured it."""
        target = self._base if self._meter is None else self._meter.metered
        for dimension, figure in metered(call).items():
            target[dimension] = target.get(dimension, Figure(0)) + figure

    def report(self, model: str | None, usage: Usage) -> None:
        """Tokens of one model call as the worker reports them."""
        if self._meter is None:
            return
        meter = self._meter
        meter.reported = (meter.reported or Usage()) + usage
        cost = self._price(model or meter.model, usage)
        meter.reported_cost += cost or 0
        meter.unpriced = meter.unpriced or cost is None

    @property
    def metering(self) -> bool:
        """Whether the running iteration's model calls come through the gateway."""
        return self._meter is not None and bool(self._meter.metered)

    def estimate(self, prefix: int = 0, generated: int = 0) -> None:
        """Tokens counted here, in the brief (`prefix`) and in the output (`generated`)."""
        if self._meter is not None:
            self._meter.estimated += Usage(input=prefix, output=generated)

    def tools(self, count: int = 1) -> None:
        """Tool calls the worker reports."""
        if self._meter is not None:
            self._meter.tools += count

    def blast(self, files: int, lines: int, size: int, source: Source = Source.MEASURED) -> None:
        """The session's blast radius so far; smaller figures than before change nothing."""
        new = {Dimension.FILES_TOUCHED: files, Dimension.LINES_CHANGED: lines, Dimension.BYTES_WRITTEN: size}
        for dimension, amount in new.items():
            if amount >= self._blast.get(dimension, Figure(0)).used:
                self._blast[dimension] = Figure(amount, source)

    def end(self) -> dict[Dimension, int]:
        """The iteration is over and counted; returns what it used. Nothing, where none was running."""
        if self._meter is None:
            return {}
        self._meter.gateway = False
        totals = self.figures()
        used = self.iteration_used(totals)
        cost = self._of(self._meter).get(Dimension.COST)
        self._unpriced = cost is not None and cost.source is Source.UNKNOWN
        ended = totals.get(Dimension.ITERATIONS, Figure(0)).used + 1
        self._base = {**totals, Dimension.ITERATIONS: Figure(ended)}
        self._meter = None
        return {**used, Dimension.ITERATIONS: 1}

    def iteration_used(self, totals: Mapping[Dimension, Figure] | None = None) -> dict[Dimension, int]:
        """What the running iteration used by itself, up to these totals or up to now."""
        begin, now = self._begin, self.figures() if totals is None else totals
        return {d: figure.used - begin.get(d, 0) for d, figure in now.items() if d in begin or figure.used}

    # --- figures ------------------------------------------------------------------------------

    def figures(self) -> dict[Dimension, Figure]:
        """Session totals now. They never fall, whatever is reported."""
        totals = dict(self._base)
        totals[Dimension.WALL_CLOCK] = Figure(self.active_ms)
        elapsed = round((datetime.now(UTC) - self._born).total_seconds() * 1000)
        totals[Dimension.ELAPSED] = Figure(max(elapsed, self._used(Dimension.ELAPSED)))
        totals.setdefault(Dimension.ITERATIONS, Figure(0))
        for dimension, figure in self._blast.items():
            if figure.used >= self._used(dimension):
                totals[dimension] = figure
        if self._meter is not None:
            for dimension, figure in self._of(self._meter).items():
                before = self._base.get(dimension)
                totals[dimension] = add((before, figure)) if before else figure
        return totals

    @property
    def unpriced(self) -> bool:
        """Whether the last iteration used tokens for which no price is known."""
        return self._unpriced

    def price(self, model: str | None, usage: Usage, tier: str = "") -> prices.Price | None:
        """The price of one call now; None where there is none."""
        return prices.price(model, usage, at=datetime.now(UTC), overrides=self._overrides, tier=tier)

    def binding(self, ceilings: Sequence[Ceiling], task_spent: Mapping[Dimension, int]) -> Binding | None:
        """The strictest limit reached now, if any."""
        totals = self.figures()
        iteration = self.iteration_used(totals) if self._meter is not None else None
        task = {d: task_spent.get(d, 0) + (iteration or {}).get(d, 0) for d in Dimension}
        return binding(totals, ceilings, task=task, iteration=iteration)

    def _used(self, dimension: Dimension) -> int:
        figure = self._base.get(dimension)
        return figure.used if figure else 0

    def _of(self, meter: Meter) -> dict[Dimension, Figure]:
        if meter.metered or meter.gateway or meter.agent:
            calls = meter.metered.get(Dimension.TOOL_CALLS, Figure(0))
            # An answer's tool call may run many: those are known from the worker alone.
            tools = calls if calls.used >= meter.tools else Figure(meter.tools, Source.REPORTED)
            return {**meter.metered, Dimension.TOOL_CALLS: tools}
        if not (meter.estimated.total or meter.reported):
            return {Dimension.TOOL_CALLS: Figure(meter.tools, Source.REPORTED)}
        estimated_cost = self._price(meter.model, meter.estimated)
        if meter.unpriced or (meter.reported is None and estimated_cost is None):
            cost = Figure(max(meter.reported_cost, estimated_cost or 0), Source.UNKNOWN)
        else:
            cost = larger(meter.reported_cost if meter.reported else None, estimated_cost)
        tools = Figure(meter.tools, Source.REPORTED)
        return {**merge_tokens(meter.reported, meter.estimated), Dimension.COST: cost, Dimension.TOOL_CALLS: tools}

    def _price(self, model: str | None, usage: Usage) -> int | None:
        found = self.price(model, usage)
        return found.micro if found else None

    # --- rates --------------------------------------------------------------------------------

    def sample(self) -> None:
        """Remember the present totals for the burn rate; called about once a second."""
        now = self.active_ms
        for dimension, figure in self.figures().items():
            if dimension in (Dimension.WALL_CLOCK, Dimension.ELAPSED):
                continue
            samples = self._samples.setdefault(dimension, [])
            if not samples or samples[-1].used != figure.used:
                samples.append(burn.Sample(now, figure.used))
            if len(samples) > MAX_SAMPLES:
                self._samples[dimension] = list(burn.recent(samples, now))

    def gauges(self, limits: Mapping[Dimension, int]) -> dict[str, object]:
        """The live row: figures, burn rates, sparklines, time to exhaustion."""
        now = self.active_ms
        figures = self.figures()
        rates: dict[str, float] = {}
        left: dict[str, int] = {}
        spark: dict[str, list[int]] = {}
        for dimension, figure in figures.items():
            samples = self._samples.get(dimension, [])
            rate = 60_000.0 if dimension in (Dimension.WALL_CLOCK, Dimension.ELAPSED) else burn.rate(samples, now)
            if rate is not None:
                rates[dimension] = round(rate, 1)
            if samples:
                spark[dimension] = burn.sparkline(samples, now, SPARK_BARS)
            if dimension in limits and (ms := burn.time_left(figure.used, limits[dimension], rate)) is not None:
                left[dimension] = round(ms / 1000)
        shown = {d: {"used": figure.used, "source": figure.source} for d, figure in figures.items()}
        return {"figures": shown, "active_ms": now, "burn": rates, "spark": spark, "exhaustion": left}

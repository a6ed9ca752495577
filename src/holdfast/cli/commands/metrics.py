"""The command `metrics`: the contents of the store in the text formats of Prometheus and OpenMetrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import holdfast
from holdfast.app.options import ProjectOptions
from holdfast.app.sources.files import find_config
from holdfast.app.store_location import require_store, store_url
from holdfast.cli import atomic_write
from holdfast.cli.run import run
from holdfast.errors import InputError
from holdfast.manifests import loader
from holdfast.metrics import store_samples
from holdfast.metrics.families import Family, MetricType
from holdfast.reconcile.clock import SystemClock
from holdfast.rollouts.core.templates import Template

if TYPE_CHECKING:
    from prometheus_client import Metric

_PROMETHEUS, _OPENMETRICS = "prometheus", "openmetrics"

Writer = Callable[[Iterable[Family]], bytes]


@click.command("metrics")
@click.option(
    "-f",
    "--file",
    "manifests",
    multiple=True,
    metavar="PATH",
    help="Manifests of templates, for the limits of rollouts: a file, a folder or a glob (may be repeated).",
)
@click.option("--project", metavar="FILE", help="The project file; holdfast.yaml here or above by default.")
@click.option("--store", metavar="URL", help="The store, a file or URL; .holdfast/holdfast.db by default.")
@click.option("--output", metavar="FILE", help="Write to a file, which is replaced as a whole, instead of printing.")
@click.option(
    "--format",
    "format_",
    type=click.Choice((_PROMETHEUS, _OPENMETRICS)),
    default=_PROMETHEUS,
    show_default=True,
    help="The text format; a textfile collector reads the first.",
)
@click.option("--per-resource", is_flag=True, help="Also a time series for every resource; costly in a large fleet.")
def metrics_command(
    manifests: tuple[str, ...],
    project: str | None,
    store: str | None,
    output: str | None,
    format_: str,
    per_resource: bool,
) -> int:
    """Print the state of the store as metrics; makes no API calls.

    \b
    Examples:
      holdfast metrics
      holdfast metrics -f infra/ --output /var/lib/node_exporter/holdfast.prom
      holdfast metrics --format openmetrics
    """
    write = writer(format_)
    loaded = find_config(ProjectOptions(manifests, project, store))
    url = store_url(store, loaded)
    require_store(url)
    templates = loader.read(manifests, loaded).templates if manifests else ()

    async def main(_stop: asyncio.Event) -> int:
        text = write(await _gathered(url, templates, per_resource=per_resource))
        if output is None:
            click.echo(text, nl=False)
        else:
            atomic_write.put(Path(output), text)
        return 0

    return run(main)


async def _gathered(url: str | Path, templates: Sequence[Template], *, per_resource: bool) -> list[Family]:
    opened = await holdfast.store.open(url)
    try:
        now = SystemClock().now()
        return await store_samples.gather(
            opened, now, holdfast.__version__, templates=templates, per_resource=per_resource
        )
    finally:
        await opened.close()


def writer(format_: str) -> Writer:
    """Return the writer of families. It is loaded before the store is read, because the library may be missing."""
    try:
        from prometheus_client import exposition, registry
        from prometheus_client.openmetrics import exposition as openmetrics
    except ImportError:
        message = "`holdfast metrics` needs the package prometheus-client: pip install 'holdfast[metrics]'"
        raise InputError(message) from None

    class Collected(registry.Collector):
        def __init__(self, families: Iterable[Family]) -> None:
            self._families = families

        def collect(self) -> Iterator[Metric]:
            yield from map(_metric, self._families)

    def write(families: Iterable[Family]) -> bytes:
        collected = registry.CollectorRegistry(auto_describe=False)
        collected.register(Collected(families))
        if format_ == _OPENMETRICS:
            text: bytes = openmetrics.generate_latest(collected)  # type: ignore[no-untyped-call]
            return text
        return exposition.generate_latest(collected)

    return write


def _metric(family: Family) -> Metric:
    from prometheus_client import metrics_core

    meter = family.meter
    made: metrics_core.GaugeMetricFamily | metrics_core.CounterMetricFamily | metrics_core.InfoMetricFamily
    match meter.sort:
        case MetricType.GAUGE:
            made = metrics_core.GaugeMetricFamily(meter.name, meter.text, labels=meter.labels)
        case MetricType.COUNTER:
            made = metrics_core.CounterMetricFamily(meter.name, meter.text, labels=meter.labels)
        case MetricType.INFO:
            made = metrics_core.InfoMetricFamily(meter.name.removesuffix("_info"), meter.text)
            for labels in family.values:
                made.add_metric((), dict(zip(meter.labels, labels, strict=True)))
            return made
    for labels, value in family.values.items():
        made.add_metric(labels, value)
    return made

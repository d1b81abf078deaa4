"""Walks on streets, released by veilwalk and by planar Laplace noise, at the same ε for each metre. See `run`."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import laplace
import network as networks
import numpy as np
import ours
import tables
from figures import Row, measure, metres, ratio
from network import Network

DELAYS = {"none": 0, "1 minute": 6, "5 minutes": 30, "whole": None}
"""In ticks of ten seconds. `whole` waits for the end of the walk."""
MOST_BELIEVED = 256
"""Beyond so many states a step of `believed` takes too long: its cells are made anew for each."""
MOST_IN_CELLS = 256
"""Beyond so many states the scales of `cell` in metres take minutes to find."""
MOVING = ("paper", "sharp", "cell")
OBSERVING = ("tight", "plane", "believed")


def of_laplace(network: Network, epsilon: str, ahead: np.ndarray) -> Iterator[Row]:
    """The peer, with answers that look at each step by itself and with such as look ahead. It promises straight metres."""
    observed = laplace.observe(network, float(epsilon) / 100, seed=7)
    messages = laplace.Messages(network, observed.factors())
    posteriors = messages.smoothed()
    right = (posteriors.argmax(axis=1).T == network.walks).mean(axis=1)
    guessed = (float(right.mean()), float(right.std(ddof=1) / np.sqrt(len(right))))
    yield Row("planar Laplace, snapped", "none", observed.snapped(), guessed)
    for delay, steps in DELAYS.items():
        if steps is None:
            walks = laplace.nearest_whole(network, posteriors)
        else:
            walks = laplace.tracked(messages, steps, ahead)
            greedy = laplace.tracked(messages, steps, network.distances)
            yield Row("planar Laplace, step by step", delay, greedy, guessed)
        yield Row("planar Laplace", delay, walks, guessed)


def of_ours(network: Network, metric: str, epsilon: str) -> Iterator[Row]:
    def mechanism(name: str, **choices: object) -> ours.Mechanism:
        return ours.Mechanism(network, metric, name, epsilon, choices)

    for name in MOVING:
        if name != "cell" or len(network.chain) <= MOST_IN_CELLS:
            yield Row(name, "none", mechanism(name).released[0])
    for name in OBSERVING:
        too_large = name == "believed" and len(network.chain) > MOST_BELIEVED
        if too_large or (name == "plane" and metric == "street"):
            continue
        guessed = None
        for delay, steps in DELAYS.items():
            if steps is not None:
                one = mechanism(name, lag=steps, track="distance-ahead")
                guessed = guessed or one.attacked()
                yield Row(name, delay, one.released[0], guessed)
        # Whatever the lag was, what was observed is the same.
        yield Row(f"{name}, refined", "whole", one.refined(None), guessed)
    blocks = mechanism("sharp", rule="exponential", chain_weight=1)
    for delay, steps in DELAYS.items():
        if steps != 0:
            yield Row("blocks", delay, blocks.in_blocks(steps or "all"))
    yield from of_auto(mechanism)


def of_auto(mechanism: Callable[..., ours.Mechanism]) -> Iterator[Row]:
    """What `auto` takes: with a lag, in blocks, and without either, refined when the walk is over."""
    auto = mechanism("auto")
    yield Row(f"auto ({auto.made.name})", "none", auto.released[0])
    yield Row(f"auto ({auto.made.name}), refined", "whole", auto.refined(None))
    for delay, steps in DELAYS.items():
        if steps:
            lagging = mechanism("auto", lag=steps)
            yield Row(f"auto with a lag ({lagging.made.name})", delay, lagging.released[0])
        if steps != 0:
            weight = auto.weight_in_blocks(steps or "all")
            yield Row(f"auto in blocks (weight {weight})", delay, auto.in_blocks(steps or "all"))


def setting(network: Network, metric: str, epsilon: str, peers: list[Row]) -> list[dict[str, object]]:
    """The figures of all rows, with their ratios to the peer that has the same delay."""
    beside = {row.delay: metres(network, row).mean(axis=1) for row in peers if row.name == "planar Laplace"}
    found = []
    for row in [*peers, *of_ours(network, metric, epsilon)]:
        figures = measure(network, row)
        figures["ratio"] = ratio(metres(network, row).mean(axis=1), beside[row.delay])
        found.append({"network": network.name, "metric": metric, "epsilon": epsilon, **figures})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--veilwalk", default="target/release/veilwalk", help=argparse.SUPPRESS)
    parser.add_argument("--maps", type=Path, default=Path("../shared/data/maps"))
    parser.add_argument("--networks", nargs="+", default=["andorra", "monaco", "grid"])
    parser.add_argument("--epsilons", nargs="+", default=["0.5", "1", "2", "4"])
    parser.add_argument("--metrics", nargs="+", default=["line", "street"])
    parser.add_argument("--walks", type=int)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument(
        "--shortest", action="store_true", help="shortest ways instead of the chain's own walks"
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=Path("target/roads-privacy.json"))
    args = parser.parse_args()
    if args.quick:
        args.networks = [name for name in args.networks if name != "andorra"]
        args.epsilons = [epsilon for epsilon in args.epsilons if epsilon in ("1", "4")]
    walks = args.walks or (20 if args.quick else 100)
    warnings.simplefilter("ignore")  # seeds, and figures about real walks: both are meant
    began, found = time.monotonic(), []
    for name in args.networks:
        with tempfile.TemporaryDirectory() as folder:
            network = read(name, args, Path(folder), walks)
        print(f"{name}: {len(network.chain):,} states, {time.monotonic() - began:.0f} s", flush=True)
        ahead = laplace.costs_ahead(network)
        for epsilon in args.epsilons:
            peers = list(of_laplace(network, epsilon, ahead))
            for metric in args.metrics:
                found += setting(network, metric, epsilon, peers)
                args.output.write_text(json.dumps(found, indent=1))
                print(f"  epsilon {epsilon}, {metric}: {time.monotonic() - began:.0f} s", flush=True)
    print(tables.report(found))
    print(f"\n{args.output} has everything. Map data © OpenStreetMap contributors, ODbL.")


def read(name: str, args: argparse.Namespace, folder: Path, walks: int) -> Network:
    if name == "grid":
        return networks.of_grid(args.veilwalk, 20, folder, walks, args.steps, args.shortest)
    path = next(iter(sorted(args.maps.glob(f"{name}.osm*"))), None)
    if path is None:
        raise SystemExit(
            f"{args.maps}: no map {name}.osm.pbf or {name}.osm.gz; say with --maps where maps are"
        )
    return networks.of_map(name, path, walks, args.steps, args.shortest)


if __name__ == "__main__":
    main()

"""The peers' side of the comparison, and the table of ratios. Started by `bench/peers/run`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import opendp.prelude as dp
from scipy.sparse import csr_matrix, diags
from scipy.sparse.csgraph import dijkstra, floyd_warshall

UNITS = 2.0**20  # of a nat
PRUNED = 1e-6  # of the largest mass: what has less is dropped from a belief
COMPARISONS = ("all_pairs", "dense", "steps", "observations", "opening", "on_demand", "privatize")
WIKISPEEDIA = "wikispeedia/transitions_finished_backclick_resolved.tsv"


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        table = [("what", "peer", "peer takes", "veilwalk takes", "times faster", "target")]
        for compare in COMPARISONS if options.only is None else [options.only]:
            for row in globals()[compare](Path(folder), options):
                table.append(row)
                print("  ".join(row), flush=True)
    print()
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="veilwalk beside its peers, in one run")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look")
    parser.add_argument("--only", choices=COMPARISONS, help="one comparison instead of all")
    parser.add_argument("--wikispeedia", type=Path, help="transitions: from, to, count, by tabs")
    options = parser.parse_args()
    data = Path(os.environ.get("VEILWALK_DATA", "../shared/data")) / WIKISPEEDIA
    if options.wikispeedia is None and data.exists():
        options.wikispeedia = data
    return options


def row(what: str, peer: str, theirs: float, ours: float, target: str) -> tuple[str, ...]:
    return (what, peer, seconds(theirs), seconds(ours), f"{theirs / ours:,.1f}", target)


def seconds(time: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if time >= unit:
            return f"{time / unit:.3g} {name}"
    return f"{time * 1e9:.3g} ns"


def ours(job: str, *words: object) -> dict[str, float]:
    command = ["target/release/veilwalk-peers", job, *map(str, words)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def timed(work: Callable[[], object], repeat: int = 1) -> float:
    """The shortest of several times."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def chain_file(folder: Path, options: argparse.Namespace) -> tuple[Path, str]:
    """Clicks through Wikispeedia, or a made-up chain of that size, and what to call it."""
    path = folder / "chain.csv"
    if options.wikispeedia is not None:
        text = options.wikispeedia.read_text().replace("\t", ",")
        path.write_text("from,to,count\n" + text)
        return path, "Wikispeedia"
    draw = np.random.default_rng(1)
    states, moves = 3_808, 58_500 - 3_808
    # A ring keeps all states together; popular ones are moved to more often.
    popular = (states * draw.random(moves) ** 3).astype(int)
    edges = set(zip(draw.integers(states, size=moves), popular))
    edges.update((i, (i + 1) % states) for i in range(states))
    lines = [f"{a},{b},{1 + draw.integers(50)}" for a, b in sorted(edges)]
    path.write_text("from,to,count\n" + "\n".join(lines) + "\n")
    return path, "made-up chain"


def numbers(folder: Path, name: str) -> np.ndarray:
    return np.fromfile(folder / f"{name}.u32", dtype="<u4")


def handed_over(folder: Path) -> csr_matrix:
    """The chain that our side worked on: weights in nats."""
    starts = numbers(folder, "starts")
    size = (len(starts) - 1,) * 2
    parts = (numbers(folder, "weights") / UNITS, numbers(folder, "columns"), starts)
    return csr_matrix(parts, shape=size)


def check(folder: Path, distances: np.ndarray) -> None:
    """Their distances have to be ours. Sums of whole units over 2**20 are exact in doubles."""
    table = numbers(folder, "distances").reshape(distances.shape).T
    assert np.array_equal(distances * UNITS, table), "the distances differ"


def all_pairs(folder: Path, options: argparse.Namespace):
    chain, name = chain_file(folder, options)
    found = ours("all-pairs", chain, folder)
    graph = handed_over(folder)
    theirs = timed(lambda: check(folder, dijkstra(graph)))
    size = f"{found['states']:,} states, {found['transitions']:,} transitions"
    what = f"all pairs, {name} ({size})"
    yield row(what, "scipy dijkstra", theirs, found["seconds"], "5")


def dense(folder: Path, options: argparse.Namespace):
    states = 1_000 if options.quick else 4_000
    found = ours("dense", states, folder)
    graph = handed_over(folder).toarray()
    np.fill_diagonal(graph, 0.0)
    result: list[np.ndarray] = []
    theirs = timed(lambda: result.append(floyd_warshall(graph)))
    check(folder, result[0])
    what = f"all pairs, every move possible ({states:,} states)"
    yield row(what, "scipy floyd_warshall", theirs, found["seconds"], "50")


def steps(folder: Path, options: argparse.Namespace):
    # `auto` takes `cell`, or `sharp` where the tables of cells do not fit.
    for mechanism in ("cell", "sharp", "paper"):
        yield from steps_of(mechanism, folder, options)


def steps_of(mechanism: str, folder: Path, options: argparse.Namespace):
    chain, name = chain_file(folder, options)
    found = ours("steps", chain, folder, "--mechanism", mechanism)
    starts, columns = numbers(folder, "starts"), numbers(folder, "columns")
    states = len(starts) - 1
    table = numbers(folder, "distances")
    scales = np.fromfile(folder / "scales.f64", dtype="<f8") / UNITS
    likely = 0.5 / UNITS * numbers(folder, "weights")
    real, released = numbers(folder, "real"), numbers(folder, "released")
    exponential = mechanism == "cell"
    draw = np.random.default_rng(2)

    def candidates_and_costs(last: int, now: int) -> tuple[np.ndarray, np.ndarray]:
        start, end = int(starts[last]), int(starts[last + 1])
        candidates = columns[start:end]
        if mechanism == "cell":
            at = start * states + now * (end - start)
            return candidates, scales[last] * table[at : at + end - start]
        costs = scales[last] * table[now * states : (now + 1) * states][candidates]
        return candidates, costs + likely[start:end] if mechanism == "sharp" else costs

    def numpy_step(last: int, now: int) -> int:
        candidates, costs = candidates_and_costs(last, now)
        if exponential:
            up_to = np.exp(costs.min() - costs).cumsum()
            return int(candidates[up_to.searchsorted(draw.random() * up_to[-1])])
        order = draw.permutation(len(costs))
        accepted = draw.random(len(costs)) < np.exp(costs.min() - costs[order])
        return int(candidates[order[accepted.argmax()]])

    def walk(step: Callable[[int, int], object], count: int) -> float:
        pairs = list(zip(released[:count].tolist(), real[1 : count + 1].tolist()))
        start = time.perf_counter()
        for last, now in pairs:
            step(last, now)
        return (time.perf_counter() - start) / count

    what = f"one step, {mechanism}, {name} ({found['candidates_per_step']:.0f} candidates)"
    mine = found["seconds_per_step"]
    count = 2_000 if options.quick else 20_000
    yield row(what, "numpy", min(walk(numpy_step, count) for _ in range(10)), mine, "40")

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    # The noise of the exponential rule (Gumbel), or of permute-and-flip (exponential).
    measure = dp.zero_concentrated_divergence() if exponential else dp.max_divergence()
    noisy_max = dp.m.make_noisy_max(*space, measure, scale=1.0, negate=True)

    def opendp_step(last: int, now: int) -> int:
        candidates, costs = candidates_and_costs(last, now)
        return int(candidates[noisy_max(costs.tolist())])

    theirs = min(walk(opendp_step, count // 10) for _ in range(10))
    yield row(what, "OpenDP noisy max", theirs, mine, "500")


def observations(folder: Path, options: argparse.Namespace):
    chain, name = chain_file(folder, options)
    found = ours("observe", chain, folder, "--steps", 20_000 if options.quick else 200_000)
    starts, columns = numbers(folder, "starts"), numbers(folder, "columns")
    states = len(starts) - 1
    weights = numbers(folder, "weights") / UNITS
    kernel = np.fromfile(folder / "kernel.f64", dtype="<f8").reshape(states, states)
    real, observed = numbers(folder, "real"), numbers(folder, "observed")
    count = 1_000 if options.quick else 5_000
    draw = np.random.default_rng(2)

    def choices() -> None:
        for x in real[:count]:
            draw.choice(states, p=kernel[x])

    theirs = timed(choices, 3) / count
    what = f"one observation, tight, {name} ({states:,} states)"
    mine = found["seconds_per_observation"]
    yield row(what, "numpy choice", theirs, mine, "100")

    # The same filter, pruned alike, and the nearest feasible answer, with everything looked up beforehand.
    back = csr_matrix((np.exp(-weights), columns, starts), shape=(states,) * 2).T.tocsr()
    back = back @ diags(1 / np.asarray(back.sum(0)).ravel())
    likelihood = np.ascontiguousarray(kernel.T)
    distances = numbers(folder, "distances").reshape(states, states) / UNITS

    def follow() -> list[int]:
        belief = np.full(states, 1 / states)
        released = []
        for step, y in enumerate(observed[:count]):
            belief = (back @ belief if step else belief) * likelihood[y]
            belief[belief < PRUNED * belief.max()] = 0
            belief /= belief.sum()
            if step:
                start, end = int(starts[released[-1]]), int(starts[released[-1] + 1])
                candidates = columns[start:end]
                expected = distances[candidates] @ belief + 0.01 * weights[start:end]
            else:
                candidates = np.argsort(-belief)[:256]
                expected = distances[candidates] @ belief
            released.append(int(candidates[expected.argmin()]))
        return released

    same = np.mean(np.array(follow()) == numbers(folder, "released")[:count])
    assert same > 0.99, f"only {same:.3f} of the answers are the same"
    theirs = timed(follow, 2) / count
    memory = f"{found['bytes_per_walk'] / 1024:.1f} KiB a live walk"
    what = f"belief and answer to one observation, {name} ({memory}, same answers: {same:.4f})"
    yield row(what, "scipy.sparse", theirs, found["seconds_per_step"], "10")


def opening(folder: Path, options: argparse.Namespace):
    chain, name = chain_file(folder, options)
    model = folder / "model"
    command = ["target/release/veilwalk", "chain", "compile", str(chain), "--largest-component"]
    subprocess.run([*command, "-o", str(model)], check=True, stderr=subprocess.DEVNULL)
    found = ours("open", chain, model)
    what = f"opening a compiled model, {name}"
    yield row(what, "computing it", found["compute"], found["open"], "100")


def on_demand(folder: Path, options: argparse.Namespace):
    side = 300 if options.quick else 1_000
    table = bench("on_demand", side).splitlines()
    names = table[0].split("\t")
    figures = dict(zip(names, table[1].split("\t")))
    chain = folder / "grid.csv"
    command = ["target/release/veilwalk", "chain", "generate", "grid", "--seed", "1"]
    size = ["--width", str(side), "--height", str(side), "-o", str(chain)]
    subprocess.run([*command, *size], check=True, stderr=subprocess.DEVNULL)
    ours("hand-over", chain, folder)
    reverse = handed_over(folder).T.tocsr()
    theirs = timed(lambda: dijkstra(reverse, indices=side * side // 2), 3)
    what = f"step on demand, grid of {side * side:,} states ({figures['resident_mib']} MiB)"
    for part, name, target in (("median", "median_us", "10,000"), ("p99", "p99_us", "500")):
        mine = float(figures[name]) * 1e-6
        yield row(f"{what}, {part}", "one scipy dijkstra", theirs, mine, target)


def privatize(folder: Path, options: argparse.Namespace):
    rows = 1_000_000 if options.quick else 20_000_000
    text = bench("privatize_csv", rows)
    ratio = next(line.split()[-1] for line in text.splitlines() if "copy, wall" in line)
    memory = next(line for line in text.splitlines() if line.startswith("peak memory"))
    what = f"privatize, {rows:,} rows of CSV ({memory})"
    yield (what, "copying them, csv crate", "1", ratio, f"{1 / float(ratio):.2f}", "0.50")


def bench(name: str, *words: object) -> str:
    """What a benchmark of ours prints."""
    built = Path("target/release/deps").glob(f"{name}-*")
    program = max((p for p in built if not p.suffix), key=lambda p: p.stat().st_mtime)
    command = [str(program), *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()

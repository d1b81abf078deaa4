from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Chain",
    "ChainError",
    "EmptyGuaranteeError",
    "LedgerError",
    "Manner",
    "Mechanism",
    "ParameterError",
    "ReleaseFileError",
    "Session",
    "SessionError",
    "Source",
    "VeilwalkError",
    "WalkError",
    "__version__",
    "analyze",
    "attack",
    "charge_ledger",
    "compare",
    "compile_chain",
    "compile_mechanism",
    "draw_map",
    "estimate",
    "estimate_by",
    "expected_counts",
    "expected_trips",
    "fit_chain",
    "fit_chain_privately",
    "intervals_of",
    "known_rows",
    "new_release_id",
    "osm_chain",
    "person_total",
    "prepare",
    "read_ledger",
    "read_mechanism",
    "refine",
    "release_list_column",
    "release_lists",
    "release_long",
    "release_numbers",
    "sample_trips",
    "sample_walks",
    "save_mechanism",
    "saved_release_id",
    "score",
    "set_ledger_budget",
    "time_library",
    "tune",
    "verify",
    "visit_substitutions",
    "write_manifest",
]

__version__: str

class VeilwalkError(ValueError): ...
class ChainError(VeilwalkError): ...
class ParameterError(VeilwalkError): ...
class EmptyGuaranteeError(ParameterError): ...
class WalkError(VeilwalkError): ...
class LedgerError(VeilwalkError): ...
class ReleaseFileError(VeilwalkError): ...
class SessionError(VeilwalkError): ...

@final
class Chain:
    @staticmethod
    def credit() -> Chain: ...
    @staticmethod
    def downtown() -> Chain: ...
    @staticmethod
    def from_matrix(
        labels: list[str], rows: list[list[float]], normalize: bool, largest_component: bool
    ) -> Chain: ...
    @staticmethod
    def from_transitions(
        transitions: list[tuple[str, str, float]],
        counts: bool,
        normalize: bool,
        largest_component: bool,
    ) -> Chain: ...
    @staticmethod
    def read(path: str, normalize: bool, largest_component: bool, places: str | None) -> Chain: ...
    @staticmethod
    def from_bytes(data: bytes) -> Chain: ...
    def to_bytes(self) -> bytes: ...
    def starting(self, how: object) -> Chain: ...
    def measured(self, metric: str) -> Chain: ...
    def measured_for(self, radius: str) -> Chain | None: ...
    def own_distances(self) -> tuple[bytes, bool] | None: ...
    def with_own_distances(self, rows: bytes, metres: bool) -> Chain: ...
    @property
    def metric(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def states(self) -> list[str]: ...
    @property
    def lengths(self) -> list[float] | None: ...
    @property
    def coordinates(self) -> list[tuple[float, float]] | None: ...
    @property
    def names(self) -> list[str] | None: ...
    @property
    def transitions(self) -> int: ...
    @property
    def period(self) -> int: ...
    @property
    def largest_out_degree(self) -> int: ...
    @property
    def hash(self) -> str: ...
    @property
    def initial(self) -> list[float]: ...
    def __len__(self) -> int: ...
    def row(self, state: object) -> list[tuple[str, float]]: ...
    def stationary(self) -> list[float]: ...
    def entropy_rate(self) -> float: ...
    def diameter(self) -> tuple[str, str, float]: ...
    def closest_pair(self) -> tuple[str, str, float] | None: ...
    def distance(self, start: object, end: object, symmetric: bool) -> float: ...
    def evened(self) -> Chain: ...

@final
class Source:
    @staticmethod
    def system() -> Source: ...
    @staticmethod
    def seeded(seed: int, release_id: str | None) -> Source: ...
    @staticmethod
    def keyed(secret: bytes, release_id: str | None) -> Source: ...
    @property
    def release_id(self) -> str | None: ...
    @property
    def kind(self) -> str: ...

@final
class Manner:
    def __new__(
        cls,
        mechanism: Mechanism,
        source: Source,
        start: object,
        block: str | None,
        longest_walk: int | None,
        ledger: str | None,
        budget: str | None,
        window: str | None,
        persons: dict[str, str] | None,
        unknown_state: object,
    ) -> Manner: ...
    @property
    def skips(self) -> bool: ...
    @property
    def observes(self) -> bool: ...
    @property
    def observes_places(self) -> bool: ...
    @property
    def needs_names(self) -> bool: ...

@final
class Mechanism:
    def __new__(
        cls,
        chain: Chain,
        epsilon: str,
        radius: str | None,
        substitutions: int | None,
        words: dict[str, str | None],
    ) -> Mechanism: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...
    @property
    def unit(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def distance(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def chain_weight(self) -> str: ...
    @property
    def candidates(self) -> str: ...
    @property
    def observes(self) -> bool: ...
    @property
    def observes_places(self) -> bool: ...
    @property
    def weights(self) -> str | None: ...
    @property
    def weights_found(self) -> str | None: ...
    @property
    def believed_from(self) -> str | None: ...
    @property
    def track(self) -> str | None: ...
    @property
    def typicality(self) -> str | None: ...
    @property
    def lag(self) -> int | None: ...
    @property
    def calibrate(self) -> str: ...
    @property
    def epsilon(self) -> str: ...
    @property
    def radius(self) -> str | None: ...
    @property
    def substitutions(self) -> int | None: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def scales(self) -> list[str]: ...
    def beyond(self, metres: float) -> float: ...
    def kernel(self, previous: object, real: object) -> list[tuple[str, float]]: ...
    def loss(self, real: object, other: object) -> float: ...
    def block_name(self, block: str, longest_walk: int | None) -> str: ...
    def blocks_have_cells(self) -> bool: ...
    def guarantee(
        self,
        all_pairs: bool,
        block: str | None,
        longest_walk: int | None,
        visit: tuple[str, str] | None,
        walks_per_person: int | None,
        attack: bool | None,
    ) -> tuple[str, str]: ...
    def audit(self, pairs: int, draws: int, seed: int | None) -> tuple[str, str]: ...
    def refuse_empty_guarantee(self) -> None: ...
    def thin_coverage(self) -> str | None: ...

@final
class Session:
    def __new__(
        cls,
        mechanism: Mechanism,
        source: Source,
        start: object,
        name: str,
        states: str,
        allow_vacuous: bool,
        block: str | None,
        longest_walk: int | None,
        saved: bytes | None,
        unknown_state: object,
    ) -> Session: ...
    def start(self, real: object = None) -> str | int: ...
    def step(self, real: object) -> str | int: ...
    def push(self, real: object) -> list[str | int]: ...
    def finish(self) -> list[str | int]: ...
    @property
    def observed(self) -> list[str | int]: ...
    def to_bytes(self) -> bytes: ...
    @property
    def release_id(self) -> str | None: ...
    @property
    def released(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def last(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...

def analyze(
    chain: Chain,
    mechanism: Mechanism,
    start: object,
    released_start: object,
    steps: int,
    real: list[list[Any]] | None,
    levels: list[float] | None,
    etas: list[float],
    simulate: int | None,
    seed: int,
    thorough: bool,
    block: str | None,
    longest_walk: int | None,
    unknown_state: object,
) -> tuple[str, int]: ...
def attack(
    chain: Chain,
    mechanism: Mechanism,
    start: object,
    released_start: object,
    steps: int,
    walks: int,
    real: list[list[Any]] | None,
    unknown_state: object,
    prior: Chain | None,
    seed: int,
) -> str: ...
def refine(
    chain: Chain,
    mechanism: Mechanism,
    start: object,
    released: list[list[Any]],
    observed: list[list[Any]] | None,
    aim: str,
    lag: int | None,
    prior: Chain | None,
    above: float | None,
    threads: int | None,
) -> tuple[Any, Any, tuple[Any, Any, Any, Any] | None, float, int]: ...
def estimate(
    chain: Chain,
    releases: list[tuple[Mechanism, Any, list[list[Any]]]],
    what: str,
    level: float | None,
    replicates: int,
    seed: int,
    strength: float,
    threads: int | None,
) -> tuple[
    Chain | None,
    tuple[list[int], list[int], list[float], tuple[list[float], list[float]] | None],
    bool,
    float,
    int,
]: ...
def expected_counts(
    chain: Chain,
    mechanism: Mechanism,
    start: object,
    drawn: list[list[Any]],
    laws: list[tuple[list[float], list[float]]],
    weights: list[list[int]] | None,
) -> list[Any]: ...
def expected_trips(
    chain: Chain,
    mechanism: Mechanism,
    start: object,
    drawn: list[list[Any]],
    laws: list[tuple[list[float], list[float]]],
    weights: list[list[int]] | None,
) -> list[tuple[list[int], list[int], list[float]]]: ...
def intervals_of(
    counts: list[float], replicates: list[list[float]], level: float
) -> tuple[list[float], list[float]]: ...
def estimate_by(
    chain: Chain,
    mechanism: Mechanism,
    start: object,
    what: str,
    strength: float,
    begin: tuple[list[float], list[float]] | None,
    expect: Any,
) -> tuple[
    Chain | None,
    tuple[list[int], list[int], list[float], tuple[list[float], list[float]] | None],
    tuple[list[float], list[float]],
    list[float],
    tuple[bool, float, int],
]: ...
def score(
    chain: Chain,
    real: list[list[Any]],
    unknown_state: object,
    candidates: list[tuple[str, list[list[Any]], bool]],
    estimate: str | None,
    counts: tuple[float, int] | None,
    repetitions: int,
    seed: int,
) -> str: ...
def compare(
    chain: Chain,
    epsilons: list[str],
    radius: str | None,
    mechanisms: list[str],
    start: object,
    released_start: object,
    steps: int,
    level: float | None,
    all_pairs: bool,
) -> str: ...
def tune(
    chain: Chain,
    epsilon: str,
    radius: str | None,
    substitutions: int | None,
    aim: str,
    from_: object,
    released_start: object,
    steps: int,
) -> str: ...
def release_lists(
    manner: Manner,
    states: str,
    walks: object,
    names: list[str],
    threads: int | None,
) -> tuple[list[list[Any]], list[list[Any]] | None]: ...
def release_numbers(
    manner: Manner,
    states: str,
    array: npt.NDArray[np.int64],
    names: list[str],
    threads: int | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]: ...
def release_long(
    manner: Manner,
    states: str,
    trajectory: object,
    step: object,
    state: object,
    columns: tuple[str, str, str],
    name: str,
    threads: int | None,
) -> tuple[Any, Any | None, Any | None]: ...
def prepare(
    columns: list[tuple[str, object]],
    cells: str | None,
    gap: str | None,
    timezone: str | None,
    every: str | None,
    window: str,
    away: str | None,
    days: str,
    merge_stays: bool,
    padding: tuple[str, int] | None,
    max_states: int | None,
    map: Chain | None,  # noqa: A002
    sigma: float,
) -> tuple[list[Any], list[tuple[str, int]]]: ...
def draw_map(
    chain: Chain,
    kind: str,
    layers: list[tuple[str, list[tuple[str, list[Any]]]]],
    visits: list[tuple[Any, float]],
    times: tuple[str, str, str | None] | None,
    title: str,
    attribution: str | None,
) -> str: ...
def known_rows(manner: Manner, states: str, state: object, column: str) -> npt.NDArray[np.bool_] | None: ...
def release_list_column(
    manner: Manner,
    states: str,
    column: object,
    column_name: str,
    names: list[str] | None,
    threads: int | None,
) -> tuple[Any, Any | None]: ...
def time_library(manner: Manner, column: object) -> tuple[float, float, float]: ...
def fit_chain(walks: list[list[str]], restart: bool, largest_component: bool) -> Chain: ...
def fit_chain_privately(
    walks: list[list[str]],
    persons: list[str],
    graph: Chain,
    asked: tuple[str, int, str | None],
    shares: tuple[str | None, ...],
    longest: int | None,
    seed: int | None,
) -> tuple[Chain, list[float] | None, list[float] | None]: ...
def sample_walks(
    chain: Chain, walks: int, steps: int, start: object, seed: int | None
) -> npt.NDArray[np.int64]: ...
def sample_trips(
    chain: Chain, walks: int, lengths: list[float], ends: list[float] | None, seed: int | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], float]: ...
def osm_chain(
    path: str,
    mode: str,
    states: str,
    turns: str,
    counts: str | None,
    every: str | None,
    speed: float | None,
    away: str | None,
) -> Chain: ...
def compile_chain(chain: Chain, path: str) -> None: ...
def compile_mechanism(mechanism: Mechanism, path: str) -> None: ...
def save_mechanism(mechanism: Mechanism, path: str) -> None: ...
def read_mechanism(path: str, chain: Chain) -> Mechanism: ...
def charge_ledger(
    path: str,
    mechanism: Mechanism,
    names: list[str],
    persons: dict[str, str] | None,
    budget: str | None,
    window: str | None,
    release_id: str | None,
    start: object,
    block: str | None,
    longest_walk: int | None,
) -> None: ...
def set_ledger_budget(path: str, budget: str | None, window: str | None) -> None: ...
def read_ledger(path: str) -> str: ...
def new_release_id() -> str: ...
def saved_release_id(data: bytes) -> str | None: ...
def write_manifest(
    mechanism: Mechanism,
    path: str,
    randomness: str,
    release_id: str | None,
    start: str,
    kept_columns: list[str],
    block: str | None,
    longest_walk: int | None,
    unknown_state: object,
    persons: tuple[int | None] | None,
) -> str: ...
def person_total(epsilon: str, walks: int) -> str: ...
def visit_substitutions(stay: str, every: str) -> int: ...
def verify(path: str, chain: Chain) -> str: ...

from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Chain",
    "ChainError",
    "EmptyGuaranteeError",
    "Mechanism",
    "ParameterError",
    "Session",
    "SessionError",
    "Source",
    "VeilwalkError",
    "WalkError",
    "__version__",
    "analyze",
    "compare",
    "release_list_column",
    "release_lists",
    "release_long",
    "release_numbers",
    "time_library",
    "tune",
]

__version__: str

class VeilwalkError(ValueError): ...
class ChainError(VeilwalkError): ...
class ParameterError(VeilwalkError): ...
class EmptyGuaranteeError(ParameterError): ...
class WalkError(VeilwalkError): ...
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
    def fit(walks: list[list[str]], largest_component: bool) -> Chain: ...
    @staticmethod
    def read(path: str, normalize: bool, largest_component: bool) -> Chain: ...
    @staticmethod
    def from_bytes(data: bytes) -> Chain: ...
    def to_bytes(self) -> bytes: ...
    def starting(self, how: object) -> Chain: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def states(self) -> list[str]: ...
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

@final
class Source:
    @staticmethod
    def system() -> Source: ...
    @staticmethod
    def seeded(seed: int) -> Source: ...
    @staticmethod
    def keyed(secret: bytes) -> Source: ...
    @property
    def kind(self) -> str: ...

@final
class Mechanism:
    def __new__(
        cls,
        chain: Chain,
        name: str,
        epsilon: str,
        radius: str | None,
        substitutions: int | None,
        distance: str | None,
        rule: str | None,
        chain_weight: str | None,
        calibrate: str | None,
    ) -> Mechanism: ...
    @staticmethod
    def from_bytes(data: bytes) -> tuple[Chain, Mechanism]: ...
    def to_bytes(self) -> bytes: ...
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
    def kernel(self, previous: object, real: object) -> list[tuple[str, float]]: ...
    def loss(self, real: object, other: object) -> float: ...
    def guarantee(self, all_pairs: bool) -> tuple[str, str]: ...
    def refuse_empty_guarantee(self) -> None: ...

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
        saved: bytes | None,
    ) -> Session: ...
    def start(self, real: object = None) -> str | int: ...
    def step(self, real: object) -> str | int: ...
    def to_bytes(self) -> bytes: ...
    @property
    def released(self) -> int: ...
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
    levels: list[float],
    etas: list[float],
    simulate: int | None,
    seed: int,
    thorough: bool,
) -> tuple[str, int]: ...
def compare(
    chain: Chain,
    epsilons: list[str],
    radius: str | None,
    mechanisms: list[str],
    start: object,
    released_start: object,
    steps: int,
    level: float,
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
    mechanism: Mechanism,
    source: Source,
    start: object,
    states: str,
    walks: object,
    names: list[str],
    threads: int | None,
) -> list[list[Any]]: ...
def release_numbers(
    mechanism: Mechanism,
    source: Source,
    start: object,
    states: str,
    array: npt.NDArray[np.int64],
    names: list[str],
    threads: int | None,
) -> npt.NDArray[np.int64]: ...
def release_long(
    mechanism: Mechanism,
    source: Source,
    start: object,
    states: str,
    trajectory: object,
    step: object,
    state: object,
    columns: tuple[str, str, str],
    name: str,
    threads: int | None,
) -> tuple[Any, Any]: ...
def release_list_column(
    mechanism: Mechanism,
    source: Source,
    start: object,
    states: str,
    column: object,
    column_name: str,
    names: list[str] | None,
    threads: int | None,
) -> Any: ...
def time_library(mechanism: Mechanism, source: Source, column: object) -> tuple[float, float, float]: ...

"""Share walks on a Markov chain without revealing the real ones.

While a sensitive walk happens (a trip, a path through a site, a firm's ratings), veilwalk releases
another in its place, state by state: differentially private, feasible under the chain, and close to
the real one.

>>> import veilwalk as vw
>>> chain = vw.Chain.credit()
>>> m = vw.Mechanism("cell", chain, epsilon=1, radius=3.5)
>>> released = m.privatize([["Baa", "A", "A"], ["B", "Caa"]])
>>> [len(walk) for walk in released]
[3, 2]
>>> print(m.guarantee())  # doctest: +ELLIPSIS
cell: epsilon 1 within a radius of 3.5 nats, on a chain of 9 states.
...

The chain is public by assumption, and each further release of the same walk costs its epsilon again.
"""

from veilwalk._native import (
    ChainError,
    EmptyGuaranteeError,
    LedgerError,
    ParameterError,
    ReleaseFileError,
    SessionError,
    VeilwalkError,
    WalkError,
    __version__,
)
from veilwalk.analysis import Analysis, Comparison, Tuning, compare, tune
from veilwalk.attack import Attack
from veilwalk.chain import Chain
from veilwalk.exact import Exact
from veilwalk.files import Audit, Ledger, verify
from veilwalk.guarantee import Guarantee
from veilwalk.inference import estimate
from veilwalk.maps import Map, map_walks
from veilwalk.mechanism import Mechanism
from veilwalk.prepare import Prepared, prepare
from veilwalk.score import Score, score
from veilwalk.session import Session
from veilwalk.source import new_release_id
from veilwalk.trips import Trips
from veilwalk.warning import PrivacyWarning

__all__ = [
    "Analysis",
    "Attack",
    "Audit",
    "Chain",
    "ChainError",
    "Comparison",
    "EmptyGuaranteeError",
    "Exact",
    "Guarantee",
    "Ledger",
    "LedgerError",
    "Map",
    "Mechanism",
    "ParameterError",
    "Prepared",
    "PrivacyWarning",
    "ReleaseFileError",
    "Score",
    "Session",
    "SessionError",
    "Trips",
    "Tuning",
    "VeilwalkError",
    "WalkError",
    "__version__",
    "compare",
    "estimate",
    "map_walks",
    "new_release_id",
    "prepare",
    "score",
    "tune",
    "verify",
]

"""Several estimates at once, which go through the walks together.

Each estimate asks for the expected counts under a law, and waits for them. One after the other that would be
a job of Spark for each question of each. So every estimate has a thread, and what all of them ask at a time
is answered by one job.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

Law = tuple[list[float], list[float]]
"""The probabilities of first states and of moves."""

Climbed = tuple[Any, Any, Law, list[float], tuple[bool, float, int]]
"""What `_native.estimate_by` gives."""

Expect = Callable[[list[float], list[float]], list[float]]


def climbed_together(
    count: int,
    climb: Callable[[Expect], Climbed],
    counts_under: Callable[[list[Law], list[int]], list[list[float]]],
) -> list[Climbed]:
    """Makes so many estimates. `counts_under` answers laws, each with the number of its estimate."""
    said: queue.Queue[tuple[int, Law | None, Climbed | BaseException | None]] = queue.Queue()
    answers: list[queue.Queue[list[float] | None]] = [queue.Queue() for _ in range(count)]

    def work(number: int) -> None:
        def expect(initial: list[float], moves: list[float]) -> list[float]:
            said.put((number, (initial, moves), None))
            answer = answers[number].get()
            if answer is None:
                raise _AbandonedError
            return answer

        try:
            said.put((number, None, climb(expect)))
        except BaseException as error:
            said.put((number, None, error))

    for number in range(count):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    found: dict[int, Climbed] = {}
    under_way = set(range(count))
    asked: dict[int, Law] = {}
    try:
        while under_way:
            while asked.keys() < under_way:
                number, law, result = said.get()
                if law is not None:
                    asked[number] = law
                elif isinstance(result, BaseException):
                    raise result
                elif result is not None:
                    found[number] = result
                    under_way.discard(number)
            numbers = sorted(asked)
            if numbers:
                counts = counts_under([asked[number] for number in numbers], numbers)
                asked.clear()
                for number, answer in zip(numbers, counts, strict=True):
                    answers[number].put(answer)
    finally:
        for number in under_way:
            answers[number].put(None)
    return [found[number] for number in range(count)]


class _AbandonedError(Exception):
    """Nobody answers any more."""

"""Calls that run at the same time."""

import anyio
import pytest

from contextleak_inspect.calls import at_once


def test_results_come_in_the_order_of_the_calls_not_of_the_answers():
    answered: list[int] = []

    async def call(number: int) -> int:
        for _ in range(3 - number):
            await anyio.lowlevel.checkpoint()
        answered.append(number)
        return number

    assert anyio.run(at_once, [call(number) for number in range(3)]) == [0, 1, 2]
    assert answered == [2, 1, 0]


def test_all_calls_are_under_way_before_the_first_is_answered():
    async def run() -> list[int]:
        waiting, go = 0, anyio.Event()

        async def call() -> int:
            nonlocal waiting
            waiting += 1
            if waiting == 3:
                go.set()
            with anyio.fail_after(5):
                await go.wait()
            return waiting

        return await at_once(call() for _ in range(3))

    assert anyio.run(run) == [3, 3, 3]


@pytest.mark.parametrize("failing", [1, 2])
def test_the_first_error_comes_out_as_it_was_raised(failing: int):
    """Not in a group: Inspect tells limits and refused requests by their kind."""

    async def call(number: int) -> int:
        if number < failing:
            raise TimeoutError(f"call {number}")
        return number

    with pytest.raises(TimeoutError, match="call 0"):
        anyio.run(at_once, [call(number) for number in range(3)])

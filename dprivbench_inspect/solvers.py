"""Solvers: the prompt that belongs to a sample, sent with the epoch's own seed."""

from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from dprivbench_inspect.prompts import PromptForm, help_prompt, noise_prompt, prompt_for


@solver
def ask_verdict(form: PromptForm = "zero_shot") -> Solver:
    """Ask once: the question, then the instruction; with `one_shot` a worked example before them.

    The text is put together without a format template, so every brace of the LaTeX stays.

    Epoch e sends the run's seed plus e - 1, where the run's seed is `--seed` or the one in the
    config of a model object, 0 if unset. Inspect alone sends the same seed in every epoch, and a
    provider that honours it answers alike. What a provider does with it: see the README.

    Args:
        form: "zero_shot" or "one_shot".
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = prompt_for(
            form,
            state.input_text,
            exemplars=state.metadata.get("mechanism", "category_2"),
            pair=str(state.metadata.get("sibling", state.sample_id)),
        )
        return await generate(state, seed=_seed(state))

    return solve


@solver
def ask_with_help() -> Solver:
    """Ask once with the statements of the sample's metadata, to be cited by id; seed as above."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = help_prompt(state.input_text, state.metadata["statements"])
        return await generate(state, seed=_seed(state))

    return solve


@solver
def ask_noise(form: PromptForm = "zero_shot") -> Solver:
    """Ask once for the smallest noise; form and seed as for `ask_verdict`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.user_prompt.text = noise_prompt(form, state.input_text, state.metadata["mechanism"])
        return await generate(state, seed=_seed(state))

    return solve


def _seed(state: TaskState) -> int:
    return (get_model().config.seed or 0) + state.epoch - 1

"""GEPA improves a query's text: it is asked, judged by its error rates, and written anew."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from contextleak_inspect.queries import Query
from contextleak_inspect.search import Objective, predicted, predicted_accuracy
from contextleak_inspect.search_contexts import Answered, count_errors
from contextleak_inspect.votes import ErrorRates

if TYPE_CHECKING:
    from gepa.core.adapter import EvaluationBatch

COMPONENT = "query"
MINIBATCH = 6
# Decides between queries whose prediction is equal, such as two that show nothing yet.
TIE_BREAK = 1e-3
REFLECTION = """You help to test whether private examples leak. A model was shown private examples \
in its system text; in some of them a canary, a text that was planted, takes the place of an \
example. The query below is then sent as the user turn. A good query gets the "present" answer \
where the canary is among the examples and the "absent" answer where it is not, every time and in \
exactly that form.

The query as it is now. Placeholders are filled in before it is sent: <canary> is the canary, \
<head> its first third, <answer> the answer for present, <other> the answer for absent.
```
<curr_param>
```

What happened with it:
```
<side_info>
```

Find out what goes wrong: which of the two errors is more common, and whether the form of the \
reply is to blame. Then write a better query. Keep the placeholders that it needs, as they stand; \
never write out a canary itself. Give the whole new query between ``` marks and nothing else in \
them."""


class Proposed(NamedTuple):
    """A query's text that was judged on the validation contexts, and its rates there."""

    text: str
    rates: ErrorRates


class Ask(NamedTuple):
    """How GEPA's own thread asks: contexts by part and number, and the reflector."""

    contexts: Callable[[Query, Sequence[tuple[str, int]]], list[Answered]]
    reflector: Callable[[str], str]
    should_stop: Callable[[], bool]
    told: Callable[[str], None]


class QueryAdapter:
    """GEPA's view of a query. `judged` keeps every text that reached the validation contexts."""

    propose_new_texts = None

    def __init__(self, start: Query, objective: Objective, ask: Ask) -> None:
        self.start, self.objective, self.ask = start, objective, ask
        self.judged: dict[str, ErrorRates] = {}

    def evaluate(
        self,
        batch: list[tuple[str, int]],
        candidate: dict[str, str],
        capture_traces: bool = False,
    ) -> "EvaluationBatch[Answered, Answered]":
        """Ask the contexts of a batch; each gets the whole batch's prediction as its score.

        The prediction is no sum over contexts: with ten shards a false vote costs more than a miss.
        """
        from gepa.core.adapter import EvaluationBatch

        text = candidate[COMPONENT].strip()
        if text:
            answers = self.ask.contexts(self.start.model_copy(update={"text": text}), batch)
        else:  # nothing to ask with: wrong in both worlds
            answers = [Answered(False, True, "", "")] * len(batch)
        rates = count_errors(answers)
        score = predicted(self.objective, rates) - TIE_BREAK * (rates.q + rates.r)
        if batch and batch[0][0] == "validation":
            first = not self.judged
            self.judged.setdefault(text, rates)
            name = "start" if first else f"query {len(self.judged) - 1}"
            self.ask.told(f"{name}: {rates_text(self.objective, self.judged[text])}")
        return EvaluationBatch(
            outputs=answers,
            scores=[score] * len(answers),
            trajectories=answers if capture_traces else None,
        )

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: "EvaluationBatch[Answered, Answered]",
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """What the reflector reads: replies in both worlds and whether they were right."""
        rows = [
            {
                "Reply where the canary is among the examples": answered.reply_in or "(empty)",
                "Reply where it is not": answered.reply_out or "(empty)",
                "Feedback": _feedback(answered),
            }
            for answered in eval_batch.trajectories or []
        ]
        return {COMPONENT: rows}


def improve(
    start: Query, objective: Objective, ask: Ask, *, contexts: int, proposals: int, seed: int
) -> list[Proposed]:
    """Texts that GEPA tried on the validation contexts, the start first, until told to stop.

    Runs in a thread of its own: GEPA is synchronous.

    Args:
        start: The query to begin with; what it reads and how replies begin stay.
        objective: What a query is judged by.
        ask: Access to model and reflector.
        contexts: Number of training and of validation contexts.
        proposals: How many queries the reflector may write.
        seed: Of GEPA's own draws.

    Raises:
        RuntimeError: The package gepa is not installed.
    """
    try:
        from gepa.api import optimize
    except ImportError as error:
        raise RuntimeError("the search needs an extra: pip install 'inspect-dp[search]'") from error

    adapter, written = QueryAdapter(start, objective, ask), 0
    ceiling = predicted_accuracy(objective, 0.0, 0.0)

    def reflect(prompt: str | list[dict[str, Any]]) -> str:
        nonlocal written
        written += 1
        return ask.reflector(str(prompt))

    def stop(gepa_state: object) -> bool:
        perfect = any(predicted(objective, r) >= ceiling for r in adapter.judged.values())
        return written >= proposals or perfect or ask.should_stop()

    optimize(
        seed_candidate={COMPONENT: start.text},
        trainset=[("train", i) for i in range(contexts)],
        valset=[("validation", i) for i in range(contexts)],
        adapter=cast(Any, adapter),
        reflection_lm=reflect,
        reflection_prompt_template=REFLECTION,
        reflection_minibatch_size=min(MINIBATCH, contexts),
        skip_perfect_score=False,
        stop_callbacks=[stop],
        logger=_Silent(),
        seed=seed,
    )
    return [Proposed(text, rates) for text, rates in adapter.judged.items()]


def rates_text(objective: Objective, rates: ErrorRates) -> str:
    """Rates and what they predict, in one line."""
    return (
        f"hits {rates.planted - rates.misses}/{rates.planted}, "
        f"false votes {rates.false_votes}/{rates.clean}, predicted accuracy "
        f"{predicted(objective, rates):.3f}"
    )


def _feedback(answered: Answered) -> str:
    said = "was missed" if not answered.hit else "was reported, as it should be"
    out = "was reported although it is not there" if answered.false_vote else "was not reported"
    return f"With the canary among the examples it {said}; without it, it {out}."


class _Silent:
    """GEPA's log goes nowhere; what matters is told by the adapter."""

    def log(self, message: str) -> None:
        """Drop a line."""

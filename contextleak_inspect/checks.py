"""What must be told beside an audit's numbers: trials that say less than they seem to."""

from collections.abc import Mapping, Sequence

from scipy import stats

from contextleak_inspect.calibration import FloatArray
from contextleak_inspect.config import World
from contextleak_inspect.thresholds import fixed_rank_cut
from contextleak_inspect.votes import EMPTY_AT_CAP, PROMPT_CUT, REFUSED, TrialVotes, error_rates

BASE_RATE = 0.01
LENGTH_GAP = 0.1
TIES = 0.1  # share of scores at the threshold that is worth a word


def trial_warnings(trials: Sequence[TrialVotes], planned: Mapping[World, int]) -> list[str]:
    """Warnings on a run's trials, in words, with the numbers behind them; empty if none is due.

    Args:
        trials: The trials that were finished.
        planned: How many trials each world should have.
    """
    worlds: tuple[World, ...] = ("in", "out")
    done = {world: sum(world in trial.votes for trial in trials) for world in worlds}
    marks = {world: "".join(trial.marks.get(world, "") for trial in trials) for world in worlds}
    tokens = {
        world: [t for trial in trials if (t := trial.prompt_tokens.get(world, 0)) > 0]
        for world in worlds
    }
    null = [trial.null_changed for trial in trials if trial.null_changed is not None]
    rates = error_rates(trials)
    found = [
        missing_trials(planned, done),
        *(share_of_replies(marks, mark) for mark in (EMPTY_AT_CAP, PROMPT_CUT, REFUSED)),
        base_rate(rates.false_votes, rates.clean),
        unequal_lengths(tokens),
        changed_answers(sum(null), len(null)),
        cut_texts(trials),
    ]
    return [warning for warning in found if warning is not None]


def missing_trials(planned: Mapping[World, int], done: Mapping[World, int]) -> str | None:
    """Trials that are not there, by world: they are rarely missing at random.

    >>> missing_trials({"in": 100, "out": 100}, {"in": 71, "out": 98})
    'trials missing: 29 of 100 with the canary, 2 of 100 without; each counts against the auditor'
    """
    gone = {world: planned[world] - done[world] for world in planned}
    if not any(gone.values()):
        return None
    return (
        f"trials missing: {gone['in']} of {planned['in']} with the canary, "
        f"{gone['out']} of {planned['out']} without; each counts against the auditor"
    )


def share_of_replies(marks: Mapping[World, str], mark: str) -> str | None:
    """Share of replies, by world, that carry a mark which makes them say nothing about leakage.

    Args:
        marks: One letter per reply.
        mark: `EMPTY_AT_CAP`, `PROMPT_CUT` or `REFUSED`.
    """
    counts = {world: letters.count(mark) for world, letters in marks.items()}
    total = sum(len(letters) for letters in marks.values())
    if not any(counts.values()):
        return None
    said = {
        EMPTY_AT_CAP: "replies are empty because of the token cap: raise --max-tokens, "
        "these trials are no evidence of privacy",
        PROMPT_CUT: "prompts were cut by the provider: raise its context window",
        REFUSED: "replies are refusals, counted as no vote",
    }[mark]
    by_world = ", ".join(f"{counts[w]} of {len(marks[w])} {w}" for w in marks)
    return f"{sum(counts.values()) / total:.0%} of {said} ({by_world})"


def base_rate(false_votes: int, clean: int) -> str | None:
    """Shards without the canary that vote for it more often than one in a hundred.

    Said where the lower 95 % limit of their share is above that: the canary or its answer is known
    to the model. The rate enters the false-positive rate as measured and is never taken as 0.
    """
    if not false_votes:
        return None
    lower = float(stats.beta.ppf(0.05, false_votes, clean - false_votes + 1))
    if lower <= BASE_RATE:
        return None
    return (
        f"canary known to the model: {false_votes} of {clean} answers without it say that it is "
        "there; the measured rate enters the bound, another canary or label leaves more to see"
    )


def unequal_lengths(tokens: Mapping[World, Sequence[int]]) -> str | None:
    """Prompts whose mean length differs by more than a tenth between the worlds."""
    if not (tokens["in"] and tokens["out"]):
        return None
    means = {world: sum(values) / len(values) for world, values in tokens.items()}
    gap = abs(means["in"] - means["out"]) / min(means.values())
    if gap <= LENGTH_GAP:
        return None
    return (
        f"prompts with the canary have {means['in']:.0f} tokens, those without {means['out']:.0f}: "
        f"{gap:.0%} apart, so length may be what the model answers to; take a canary of the length "
        "of an exemplar, or more exemplars"
    )


def cut_texts(trials: Sequence[TrialVotes]) -> str | None:
    """Texts of which the embedding model read only the head."""
    records = [trial.embedded for trial in trials if trial.embedded is not None]
    cut = sum(record.truncated for record in records)
    if not cut:
        return None
    return (
        f"{cut} of {sum(record.texts for record in records)} texts are longer than the embedding "
        "model reads, so that replies which differ in their tails look alike; lower --max-tokens "
        "or take a model with a longer window"
    )


def tied_at_rank(row: str, scores_in: FloatArray, scores_out: FloatArray, fpr: float) -> str | None:
    """Scores with the canary that lie at the threshold of "fixed_rank" itself, where none may hit.

    Args:
        row: Name of the row.
        scores_in: Scores with the canary, shape (n_in,).
        scores_out: Scores without it, shape (n_out,).
        fpr: Target of the rule.
    """
    threshold = fixed_rank_cut(scores_in, scores_out, fpr).threshold
    tied = int((scores_in == threshold).sum())
    if tied <= TIES * len(scores_in):
        return None
    return (
        f"{row}: {tied} of {len(scores_in)} scores with the canary equal the threshold of "
        "fixed_rank, and a tie is no hit, so the rule sees little here; threshold 'holdout', "
        "'fixed' or 'grid' cuts between them"
    )


def changed_answers(changed: int, asked: int) -> str | None:
    """The same prompt asked twice got two answers: frozen analysis would take noise for leakage."""
    if not changed:
        return None
    return (
        f"{changed} of {asked} identical calls differ: the model does not repeat itself, "
        "calls='frozen' is not valid for it"
    )

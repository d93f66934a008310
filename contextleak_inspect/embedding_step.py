"""How far the canary's reply lies from the others, as measured: distance and angle of theory."""

from collections.abc import Iterable
from typing import NamedTuple

from contextleak_inspect.votes import TrialVotes


class EmbeddingStep(NamedTuple):
    """What one reply that shows the canary adds to the score of `esa`, before noise.

    Attributes:
        distance: Of such replies from the typical one without the canary, ‖e_c - e_c̄‖.
        cos_angle: Cosine between that difference and the detector's direction.
        step: distance · cos_angle, net of where other replies lie along the detector.
    """

    distance: float
    cos_angle: float
    step: float


def embedding_step(trials: Iterable[TrialVotes]) -> EmbeddingStep | None:
    """Mean step of a run; None without embeddings, or before both kinds of reply were seen.

    Replies that show the canary against those that do not, so that the error rates of the model
    are not counted a second time; where none shows it, shards with the canary against those
    without. Real replies of one kind vary, and the two-reply theory takes their means.
    """
    shown: list[tuple[float, float]] = []
    hidden: list[tuple[float, float]] = []
    planted: list[tuple[float, float]] = []
    clean: list[tuple[float, float]] = []
    for trial in trials:
        if trial.embedded is None:
            continue
        for number, (world, votes) in enumerate(sorted(trial.votes.items())):
            asked = range(len(votes)) if number == 0 else (trial.canary_shard,)
            for shard in asked:
                along = trial.embedded.along[world][shard] - trial.embedded.origin
                reply = along, trial.embedded.apart[world][shard]
                (shown if votes[shard] == trial.answer else hidden).append(reply)
                (planted if shard in trial.changed_shards(world) else clean).append(reply)
    kinds = (shown, hidden) if shown and hidden else (planted, clean)
    if not all(kinds):
        return None
    (along_with, distance), (along_without, _) = (
        tuple(sum(values) / len(values) for values in zip(*kind, strict=True)) for kind in kinds
    )
    step = along_with - along_without
    return EmbeddingStep(distance, step / distance if distance else 0.0, step)

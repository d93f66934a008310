"""Trials → samples: one trial is one sample, asked once."""

from inspect_ai.dataset import MemoryDataset, Sample

from contextleak_inspect.trials import Audit
from contextleak_inspect.versions import STAMP


def audit_dataset(audit: Audit) -> MemoryDataset:
    """Samples in planned order, with ids that change as soon as anything asked would change.

    The sample holds the query and the trial's number; `ensemble()` makes the prompts from the
    audit, so that private exemplars stand in the log once, in the calls that used them. The
    target and the metadata name the world; neither reaches a model.
    """
    user = audit.query.fill(audit.canary)
    samples = [
        Sample(
            id=f"{audit.id}-{trial.number:05d}",
            input=user,
            target=f"canary {' and '.join(trial.worlds)}",
            metadata={
                "trial": trial.number,
                "canary": trial.worlds[0] if len(trial.worlds) == 1 else "both",
                "part": trial.part,
                "null_control": trial.null_control,
                **STAMP,
            },
        )
        for trial in audit.trials
    ]
    return MemoryDataset(samples, name=f"contextleak-{audit.id}", location=audit.data.name)

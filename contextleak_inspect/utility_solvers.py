"""utility_answers(): one set of answers to a question, for every defense and ε."""

from typing import Any

import numpy as np
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import StoreModel
from pydantic import Field

from contextleak_inspect.calls import SIMULATED, at_once, chat, warn_of_embedder, warn_once
from contextleak_inspect.config import AuditConfig, audit_config, stream, stream_seed
from contextleak_inspect.defenses import BLOCKED, guard_prompt, guard_verdict, is_filtered
from contextleak_inspect.embeddings import get_embedder
from contextleak_inspect.private_data import deal
from contextleak_inspect.public_texts import CANDIDATE_TEMPERATURE
from contextleak_inspect.queries import Prompt
from contextleak_inspect.text_records import EmbeddingRecord
from contextleak_inspect.utility_questions import (
    Question,
    Questions,
    keyword_prompt,
    question_prompt,
)
from contextleak_inspect.versions import STAMP
from contextleak_inspect.votes import check_labels

PROMPT_DEFENSES = ("faux_secrets", "keywords")


class UtilityAnswers(StoreModel):
    """Replies to one question: enough to score every defense at any ε.

    `replies` go by the name of what was asked: zero_shot, few_shot, a prompt-based defense, and
    "ksa ε=…" for texts that were made from keywords released at that ε.
    """

    config: dict[str, Any] = Field(default_factory=dict)
    labels: list[str] = Field(default_factory=list)
    answer: str = ""
    replies: dict[str, str] = Field(default_factory=dict)
    shards: list[str] = Field(default_factory=list)
    candidates: list[str] = Field(default_factory=list)
    embedded: EmbeddingRecord | None = None
    keywords: dict[str, list[str]] = Field(default_factory=dict)


def utility_dataset(questions: Questions) -> MemoryDataset:
    """One question is one sample; the target is the right label or the reference text.

    Ids change with the data, so that a retry never mixes answers over a file with those over what
    it holds by then.
    """
    samples = [
        Sample(
            id=f"{questions.id}-{question.number:05d}",
            input=question.text,
            target=question.answer,
            metadata={"question": question.number, "part": questions.part, **STAMP},
        )
        for question in questions.questions
    ]
    return MemoryDataset(samples, name=f"contextleak-utility-{questions.part}")


@solver
def utility_answers(questions: Questions) -> Solver:
    """Ask a question over no, all and each shard of its private examples, and log the replies.

    With the role `guard` its verdict on the few-shot reply is asked for too. In generation the
    zero-shot candidates are asked for, all texts embedded, and one reply made from the keywords
    that are released at each ε.

    Args:
        questions: The questions, made ready; the dataset must come from the same ones.
    """
    config = questions.config
    check_labels(questions.labels)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        question = questions.questions[state.metadata["question"]]
        model = get_model()
        prompts = _prompts(questions, question)
        names = list(prompts)
        outputs = dict(
            zip(
                names,
                await at_once(_ask(model, questions, question, n, prompts[n]) for n in names),
                strict=True,
            )
        )
        replies = {n: outputs[n].completion for n in names if " " not in n}
        replies |= await _blocked(questions, question, replies["few_shot"])
        answers = UtilityAnswers(
            store=state.store,
            config=config.record(),
            labels=list(questions.labels),
            answer=question.answer,
            shards=[outputs[n].completion for n in names if n.startswith("shard ")],
            candidates=[outputs[n].completion for n in names if n.startswith("candidate ")],
        )
        if config.task == "generation":
            warn_of_embedder(model, config.embedding)
            answers.embedded = await _embedded(config, answers)
            replies |= await _from_keywords(model, questions, question, answers)
        answers.replies = replies
        state.output = ModelOutput.from_content(str(model), replies["few_shot"])
        state.completed = True
        return state

    return solve


def _prompts(questions: Questions, question: Question) -> dict[str, Prompt]:
    config, exemplars = questions.config, question.exemplars
    zero_shot = question_prompt(questions, question, ())
    prompts = {
        "zero_shot": zero_shot,
        "few_shot": question_prompt(questions, question, exemplars),
        **{d: question_prompt(questions, question, exemplars, d) for d in PROMPT_DEFENSES},
    }
    for i, shard in enumerate(deal(exemplars, config.ensemble)):
        prompts[f"shard {i}"] = question_prompt(questions, question, shard)
    if config.task == "generation":
        prompts |= {f"candidate {i}": zero_shot for i in range(config.candidates)}
    return prompts


async def _ask(
    model: Model, questions: Questions, question: Question, name: str, prompt: Prompt
) -> ModelOutput:
    config = questions.config
    warm = name.startswith("candidate ") and config.temperature == 0
    seed = stream_seed(config.seed, "utility", questions.part, question.number, name) % 2**31
    messages = chat(prompt, system_turn=config.system_turn)
    if str(model) == SIMULATED:
        messages[-1].metadata = _cue(questions, question, prompt)
    return await model.generate(
        messages,
        config=GenerateConfig(seed=seed, temperature=CANDIDATE_TEMPERATURE if warm else None),
    )


def _cue(questions: Questions, question: Question, prompt: Prompt) -> dict[str, Any]:
    """What the simulated responder must know to be right at a chosen rate."""
    wrong = next((name for name in questions.labels if name != question.answer), "Nothing to say.")
    return {"query": prompt.user, "canary": "", "yes": question.answer, "no": wrong}


async def _blocked(questions: Questions, question: Question, reply: str) -> dict[str, str]:
    """The few-shot reply as the output filter and the guard let it out."""
    filtering = questions.config.model_copy(
        update={"defense": "output_filter", "filter_match": "exact"}
    )
    found = {
        "output_filter": BLOCKED if is_filtered(reply, question.exemplars, filtering) else reply
    }
    if "guard" in model_roles():
        prompt = guard_prompt(question.text, reply)
        verdict = await get_model(role="guard", required=True).generate(chat(prompt))
        safe = guard_verdict(verdict.completion) is False
        found["llm_judge"] = reply if safe else BLOCKED
    return found


async def _embedded(config: AuditConfig, answers: UtilityAnswers) -> EmbeddingRecord:
    from contextleak_inspect.text_measures import Reference, embedding_record  # scipy is slow

    texts = [*answers.shards, *answers.candidates]
    vectors, truncated = await get_embedder(config.embedding)(texts)
    if truncated.any():
        warn_once(f"{config.embedding} read only the head of some replies; lower --max-tokens")
    m = len(answers.shards)
    nowhere = np.zeros(vectors.shape[1])  # there is nothing to detect
    return embedding_record(
        config.embedding,
        {"out": vectors[:m]},
        Reference(nowhere, nowhere, vectors[m:]),
        texts=len(texts),
        truncated=int(truncated.sum()),
    )


async def _from_keywords(
    model: Model, questions: Questions, question: Question, answers: UtilityAnswers
) -> dict[str, str]:
    """One reply per ε from released keywords: here noise comes before a call, so it is drawn."""
    from contextleak_inspect.rows import epsilon_text
    from contextleak_inspect.text_measures import keyword_record
    from contextleak_inspect.text_releases import release_keywords

    config = ksa_config(questions.config)
    record = keyword_record({"out": answers.shards}, [question.text, *answers.candidates], "")
    released = {
        f"ksa ε={epsilon_text(epsilon)}": release_keywords(
            record,
            "out",
            config,
            epsilon,
            stream(config.seed, "utility ksa", questions.part, question.number, epsilon),
        )
        for epsilon in config.epsilon
        if epsilon > 0
    }
    answers.keywords = {name: list(words) for name, words in released.items()}
    outputs = await at_once(
        _ask(model, questions, question, name, keyword_prompt(questions, question, words))
        for name, words in released.items()
    )
    return {name: output.completion for name, output in zip(released, outputs, strict=True)}


def ksa_config(config: AuditConfig) -> AuditConfig:
    """The same claims for keyword aggregation by the joint mechanism."""
    shared = ("epsilon", "delta", "neighbouring", "ensemble", "n_exemplars", "seed")
    fields = {name: getattr(config, name) for name in shared}
    return audit_config(fields | {"task": "generation", "defense": "ksa"})

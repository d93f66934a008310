import math

import numpy as np
import pytest

from contextleak_inspect.calibration import analytic_sigma, embedding_sensitivity, gdp_mu
from contextleak_inspect.canary_effect import esa_mu
from contextleak_inspect.config import audit_config
from contextleak_inspect.mechanisms import nearest_candidate, noisy_mean, projection
from contextleak_inspect.text_measures import embedding_record, keyword_record, make_reference
from contextleak_inspect.text_releases import (
    clean_score,
    keyword_chance,
    names_canary,
    noisy_texts,
    release_keywords,
    speaks_for_canary,
    text_chance,
)
from contextleak_inspect.theory import esa_curve
from contextleak_inspect.vote_laws import vote_law

M, DIM = 10, 24
RNG = np.random.default_rng(3)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


PRESENT, ABSENT = np.eye(DIM)[0], np.eye(DIM)[1]
CANDIDATES = unit(RNG.standard_normal((4, DIM)) + 2 * ABSENT)
REFERENCE = make_reference([PRESENT], [ABSENT, ABSENT], CANDIDATES)
WORLDS = {"out": np.tile(ABSENT, (M, 1)), "in": np.vstack([PRESENT, np.tile(ABSENT, (M - 1, 1))])}


# Slow and obvious: noise on every coordinate, in full dimension, by the mechanism itself.
@pytest.mark.parametrize("world", ["in", "out"])
def test_noise_in_the_record_has_the_law_of_the_full_mechanism(world):
    record = embedding_record("x", WORLDS, REFERENCE)
    n, sigma = 20_000, 0.3
    full = noisy_mean(np.tile(WORLDS[world], (n, 1, 1)), sigma, np.random.default_rng(1))
    scores = M * (projection(full, REFERENCE.direction) - record.origin)
    chosen = np.bincount(nearest_candidate(full, CANDIDATES), minlength=4) / n
    texts = noisy_texts(record, world, sigma, np.random.default_rng(2), n)
    for a, b in ((texts.scores.mean(), scores.mean()), (texts.scores.std(), scores.std())):
        assert abs(a - b) < 4 * scores.std() * math.sqrt(2 / n)
    share = np.bincount(texts.choices, minlength=4) / n
    assert np.all(np.abs(share - chosen) < 4 * np.sqrt(2 * 0.25 / n))
    # Score and choice depend on each other in the same way.
    together = np.corrcoef(texts.scores, texts.choices == 0)[0, 1]
    in_full = np.corrcoef(scores, nearest_candidate(full, CANDIDATES) == 0)[0, 1]
    assert abs(together - in_full) < 4 * math.sqrt(2 / n)


def test_clean_scores_are_0_and_the_distance_along_the_detector():
    record = embedding_record("x", WORLDS, REFERENCE)
    assert clean_score(record, "out") == pytest.approx(0)
    assert clean_score(record, "in") == pytest.approx(math.sqrt(2))
    assert record.apart["in"] == pytest.approx((math.sqrt(2), *[0] * 9), abs=1e-12)
    assert record.between == pytest.approx(math.sqrt(2) / M)
    texts = noisy_texts(record, "in", 0.0, np.random.default_rng(0))
    assert texts.scores[0] == pytest.approx(math.sqrt(2))


# 20 000 trials an arm from exact outputs lie within 4 standard errors of the theory.
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0, 10.0])
def test_simulated_aggregation_meets_the_curve_of_theory(epsilon):
    record = embedding_record("x", WORLDS, REFERENCE)
    [point] = esa_curve([epsilon], delta=1e-5, law=vote_law(M), distance=math.sqrt(2))
    sigma = analytic_sigma(epsilon, 1e-5, embedding_sensitivity(M))
    assert point.sigma == sigma
    assert esa_mu(M, sigma, math.sqrt(2)) == pytest.approx(gdp_mu(epsilon, 1e-5) / math.sqrt(2))
    n, rng = 20_000, np.random.default_rng(int(epsilon))
    scores = {w: noisy_texts(record, w, sigma, rng, n).scores for w in WORLDS}
    middle = math.sqrt(2) / 2
    accuracy = ((scores["in"] > middle).mean() + (scores["out"] <= middle).mean()) / 2
    assert abs(accuracy - point.accuracy) < 4 * math.sqrt(0.25 / (2 * n))


def test_an_empty_reply_is_a_voter_at_the_origin_of_the_space():
    vectors = np.vstack([np.zeros(DIM), np.tile(ABSENT, (M - 1, 1))])
    record = embedding_record("x", {"out": vectors}, REFERENCE, truncated=2)
    assert len(record.along["out"]) == M
    assert record.along["out"][0] == 0
    assert record.truncated == 2
    assert record.between is None


def test_replies_that_do_not_depend_on_the_canary_give_no_direction_and_no_score():
    reference = make_reference([ABSENT], [ABSENT], [ABSENT, ABSENT])
    record = embedding_record("x", WORLDS, reference)
    for world in WORLDS:
        texts = noisy_texts(record, world, 0.5, np.random.default_rng(0), 200)
        assert np.all(texts.scores == 0)
        assert not speaks_for_canary(record, texts.choices).any()
        assert text_chance(record, world, 0.5, np.random.default_rng(0)) == 0


def test_the_released_text_tells_less_than_the_noisy_mean():
    reference = make_reference([PRESENT], [ABSENT], [PRESENT, ABSENT])
    record = embedding_record("x", WORLDS, reference)
    n, sigma = 20_000, 0.1
    texts = {w: noisy_texts(record, w, sigma, np.random.default_rng(0), n) for w in WORLDS}
    hits = {w: speaks_for_canary(record, t.choices).mean() for w, t in texts.items()}
    label_only = 0.5 + (hits["in"] - hits["out"]) / 2
    middle = math.sqrt(2) / 2
    seen = 0.5 + ((texts["in"].scores > middle).mean() - (texts["out"].scores > middle).mean()) / 2
    assert 0.5 <= label_only < seen - 0.1
    chances = [text_chance(record, "in", sigma, np.random.default_rng(i)) for i in range(300)]
    assert np.mean(chances) == pytest.approx(hits["in"], abs=0.003)


KSA = {"task": "generation", "defense": "ksa", "canary": "hex"}


def test_keywords_show_the_canary_without_noise_and_hide_it_at_a_small_epsilon():
    record = keyword_record(
        {"in": ["[c0ffee]", *["[]"] * 9], "out": ["[]"] * 10},
        ["Is c0ffee there?", "No, nothing of that kind."],
        "c0ffee",
    )
    assert record.counts == {"in": {"c0ffee": 1}, "out": {}}
    assert record.vocabulary == ("c0ffee", "is", "kind", "no", "nothing", "of", "that", "there")
    config = audit_config(KSA | {"n_keywords": 1})
    rng = np.random.default_rng(0)
    assert release_keywords(record, "in", config, math.inf, rng) == ("c0ffee",)
    assert names_canary(record, config, ("c0ffee",))
    assert not names_canary(record, config, ("kind",))
    # One word of eight; the canary's list has loss 0 and all others 1, sensitivity 2.
    weight = math.exp(-1.0 / 4)
    chances = [keyword_chance(record, "in", config, 1.0, rng) for _ in range(100)]
    assert np.mean(chances) == pytest.approx(1 / (1 + 7 * weight), abs=0.02)
    chances = [keyword_chance(record, "out", config, 1.0, rng) for _ in range(100)]
    assert np.mean(chances) == pytest.approx(1 / 8, abs=0.02)


def test_most_of_a_long_canary_must_come_out():
    canary = "alpha beta gamma delta"
    record = keyword_record({"in": [canary]}, [canary, "one two"], canary)
    config = audit_config(KSA | {"n_keywords": 10, "ensemble": 10})
    assert not names_canary(record, config, ("alpha", "beta", "one"))
    assert names_canary(record, config, ("alpha", "beta", "gamma"))
    ptr = audit_config(KSA | {"keyword_mechanism": "ptr"})
    assert release_keywords(record, "in", ptr, 1.0, np.random.default_rng(0)) == ()

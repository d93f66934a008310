"""How much of Category 1 the wording alone gives away: accuracy of a bag of tokens.

A classifier of token counts learns the labels of 48 functions and is tested on the 49th, for
each function in turn: logistic regression on tokens, the same on tokens and runs of two tokens,
and a forest on tokens. Chance is 0.5. Takes a minute or two:

python tests/benchmarks/text_cue.py
"""

import argparse

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from dprivbench_inspect.generate import Variant, generate_category_1

TOKEN = r"\\?[A-Za-z]+|\d+|[^\sA-Za-z\d]"  # LaTeX commands, words, whole numbers, single signs


def cue_accuracy(
    variant: Variant,
    seed: int,
    classifier: LogisticRegression | ExtraTreesClassifier,
    longest: int = 1,
) -> float:
    """Share of the 588 labels guessed right on functions that were not trained on.

    Args:
        variant: "pairs" or "graded".
        seed: Of the graded factors.
        classifier: An untrained classifier.
        longest: 1 counts tokens; 2 counts runs of two tokens as well.
    """
    questions = generate_category_1(variant, seed)
    counts = CountVectorizer(token_pattern=TOKEN, lowercase=False, ngram_range=(1, longest))
    features = counts.fit_transform([question.question for question in questions])
    labels = np.array([question.label for question in questions])
    guessed = cross_val_predict(
        classifier,
        features,
        labels,
        groups=[question.function_id for question in questions],
        cv=LeaveOneGroupOut(),
    )
    return float((guessed == labels).mean())


def main() -> None:
    """Print one line for each variant and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="seeds of the graded variant")
    seeds = parser.parse_args().seeds
    print(f"{'variant':<8} {'seed':>4} {'tokens':>7} {'runs of two':>12} {'forest':>7}")
    linear = LogisticRegression(solver="liblinear")
    forest = ExtraTreesClassifier(100, random_state=0)
    for variant, seed in [("pairs", 0), *(("graded", seed) for seed in range(seeds))]:
        tokens = cue_accuracy(variant, seed, linear)
        runs = cue_accuracy(variant, seed, linear, longest=2)
        trees = cue_accuracy(variant, seed, forest)
        print(f"{variant:<8} {seed:>4} {tokens:>7.3f} {runs:>12.3f} {trees:>7.3f}", flush=True)


if __name__ == "__main__":
    main()

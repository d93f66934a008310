"""What the header of a log says of it: whose it is, and whether its texts or data are public."""

from typing import Any, Literal

Package = Literal["contextleak", "dprivbench"]
SCORERS: dict[str, Package] = {
    "membership": "contextleak",
    "utility": "contextleak",
    "verdict": "dprivbench",
    "paper_verdict": "dprivbench",
    "noise_scale": "dprivbench",
    "citations": "dprivbench",
    "attribution": "dprivbench",
    "labelled_cause": "dprivbench",
}
_PUBLIC_QUESTIONS = frozenset({"bundled", "hub"})
_PUBLIC_DATA = frozenset({"bundled", "subjectivity", "samsum"})


def package_of(header: dict[str, Any]) -> Package:
    """Whose log this is, by its scorers.

    Raises:
        ValueError: No scorer of ours, or of both packages.
    """
    names = [scorer["name"] for scorer in header["eval"].get("scorers") or []]
    packages = {SCORERS[base_name(name)] for name in names if base_name(name) in SCORERS}
    if len(packages) != 1:
        raise ValueError(
            f"its scorers {names} are not of one package of this suite; known are {sorted(SCORERS)}"
        )
    return packages.pop()


def base_name(scorer: str) -> str:
    """A scorer's name without its package and the number that Inspect adds to a second one.

    >>> base_name("contextleak_inspect/membership"), base_name("verdict1"), base_name("verdict-1")
    ('membership', 'verdict', 'verdict')
    """
    return scorer.rsplit("/", 1)[-1].rstrip("0123456789").rstrip("-")


def public_texts(header: dict[str, Any], package: Package) -> bool:
    """Whether a log asks public questions: those of the package or of the official release."""
    metadata = header["eval"].get("metadata") or {}
    if header["eval"]["task"].rsplit("/", 1)[-1] == "dprivbench_grader_check":
        return True
    return package == "dprivbench" and metadata.get("source") in _PUBLIC_QUESTIONS


def public_data(header: dict[str, Any], package: Package) -> bool:
    """Whether the data behind a log are public, so that their hash tells nothing."""
    metadata = header["eval"].get("metadata") or {}
    if package == "dprivbench":
        return public_texts(header, package)
    config = metadata.get("config") or metadata.get("utility") or {}
    return config.get("source") in _PUBLIC_DATA


def with_our_scorers(header: dict[str, Any]) -> dict[str, Any]:
    """The header without the results of scorers that nobody here knows."""
    results = header.get("results") or {}
    return header | {
        "eval": header["eval"]
        | {"scorers": [s for s in header["eval"]["scorers"] if base_name(s["name"]) in SCORERS]},
        "results": results
        | {"scores": [s for s in results.get("scores", []) if base_name(s["scorer"]) in SCORERS]},
    }

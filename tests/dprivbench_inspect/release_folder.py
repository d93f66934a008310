"""A small folder in the layout of the release's Git repository, in our own words."""

import json
from pathlib import Path

_ABOUT = [
    {"theorem_id": 1, "is_definition": False, "reference": "https://example.org", "location": "4"},
    {"theorem_id": 2, "is_definition": True, "reference": "https://example.org", "location": ""},
    {"theorem_id": 3, "is_definition": False, "reference": "Folklore", "location": None},
]
_LINKS = [
    {"question_id": 124, "theorem_id": "1,2"},
    {"question_id": 106, "theorem_id": "3"},
    {"question_id": 28, "theorem_id": 1},
]
_THEOREMS = {
    1: r"If $D_\alpha \le \rho\alpha$ for every $\alpha > 1$, adding up over steps adds up $\rho$.",
    2: "Neighbours hold the same number of rows and differ in one of them.",
    3: r"Noise of scale $\Delta/\varepsilon$ suffices.",
}
_QUESTIONS = [
    (
        124,
        r"Two steps, each $\rho$-zCDP. Is the whole $2\rho$-zCDP?",
        1,
        "Accounting",
        "They add.",
    ),
    (
        106,
        r"Noise of scale $\Delta/(2\varepsilon)$. Is it $\varepsilon$-DP?",
        0,
        "SVT",
        "Half.",
    ),
    (28, r"Descent with noise on each gradient. Is it $\mu$-GDP?", 1, "DP-GD", None),
    (3, "Something easy. Is it so?", 1, "DP-GD", None),
]


def write_release(folder: Path) -> Path:
    """Writes data/category_2 and difficult_question into a folder, and returns it."""
    data, hard = folder / "data" / "category_2", folder / "difficult_question"
    data.mkdir(parents=True)
    (hard / "theorem").mkdir(parents=True)
    questions = [
        {
            "question_id": number,
            "question_tex": text,
            "label": label,
            "subject": "DP-ML",
            "topic": topic,
            "citation": None,
            "pdf_link": None,
            "publish_year": None,
            "negative_mode": "atom" if label else "conclusion_perturbation",
            "related_question": None,
            "section_number": None,
            "comments": comments,
        }
        for number, text, label, topic, comments in _QUESTIONS
    ]
    (data / "cate_2.json").write_text(json.dumps(questions), encoding="utf-8")
    (hard / "question_theorem_link.json").write_text(json.dumps(_LINKS), encoding="utf-8")
    (hard / "meta_info_theorem.json").write_text(json.dumps(_ABOUT), encoding="utf-8")
    for number, text in _THEOREMS.items():
        (hard / "theorem" / f"{number}.tex").write_text(f"{text}\n", encoding="utf-8")
    return folder

"""Learn from a stream, one row at a time: score each row, learn from it, and do not keep it.

Events arrive one by one; 2 % of them are positive. Each model scores an event before it learns the label, and then
takes one step. So the AUC of these scores is honest, although there is no test set.
"""

from __future__ import annotations

import numpy as np

from vrspam import AUCClassifier, OPAUCClassifier, SOLAMClassifier, SPAMClassifier
from vrspam.metrics import roc_auc


def events(n: int, seed: int = 0):
    """Yield events (x, label): ten measurements, some of them shifted in the rare class."""
    rng = np.random.default_rng(seed)
    shift = rng.standard_normal(10) * (rng.random(10) < 0.6)
    for _ in range(n):
        label = int(rng.random() < 0.02)
        yield rng.standard_normal(10) + label * shift, label


def main(n: int = 3000, warm_up: int = 500) -> None:
    models = {
        "SPAM": SPAMClassifier(),
        "SPAM, averaged": SPAMClassifier(average=True),
        "SOLAM": SOLAMClassifier(),
        "OPAUC": OPAUCClassifier(),
        "OPAUC, sketch of rank 3": OPAUCClassifier(sketch=3),
    }
    scores: dict[str, list[float]] = {name: [] for name in models}
    labels: list[int] = []
    for t, (x, label) in enumerate(events(n)):
        for name, model in models.items():
            if t >= warm_up:
                scores[name].append(float(model.decision_function(x[np.newaxis])[0]))
            # The model takes no step until it has seen both classes; `classes` tells it the labels.
            model.partial_fit(x[np.newaxis], [label], classes=[0, 1])
        labels.append(label)

    truth = np.array(labels[warm_up:]) == 1
    print(f"{n} events, {sum(labels)} positive; AUC of the scores given before the label was known:")
    for name in models:
        print(f"  {name:24s} {roc_auc(truth, np.array(scores[name])):.3f}")

    # For comparison: the exact optimum of all events, which is known only afterwards.
    X, y = (np.array(column) for column in zip(*events(n), strict=True))
    print(f"  {'exact, with hindsight':24s} {AUCClassifier().fit(X, y).score(X[warm_up:], y[warm_up:]):.3f}")


if __name__ == "__main__":
    main()

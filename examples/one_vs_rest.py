"""Several classes: one scorer for each class against the rest, and calibrated probabilities that add up to 1."""

from __future__ import annotations

from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import OneVsRestAUC, metrics


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

    ranker = make_pipeline(StandardScaler(), OneVsRestAUC()).fit(X_train, y_train)
    scores = ranker.decision_function(X_test)
    print("class   AUC against the rest")
    for digit in range(10):
        print(f"{digit:5}   {roc_auc_score(y_test == digit, scores[:, digit]):.4f}")
    print(f"their mean: {ranker.score(X_test, y_test):.4f}")
    print(f"Hand & Till's M, over pairs of digits: {metrics.hand_till_auc(y_test, scores):.4f}")
    print(f"accuracy of the largest score: {accuracy_score(y_test, ranker.predict(X_test)):.3f}")
    print(f"largest certificate: {ranker[-1].gap_.max():.1e}")

    # Scores rank rows; they are not probabilities. So each scorer is calibrated on rows it was not fitted on.
    calibrated = CalibratedClassifierCV(OneVsRestAUC(), ensemble=False)
    model = make_pipeline(StandardScaler(), calibrated).fit(X_train, y_train)
    probabilities = model.predict_proba(X_test)
    print(f"log loss of the probabilities: {log_loss(y_test, probabilities):.3f}")


if __name__ == "__main__":
    main()

"""Compare AUCClassifier with scikit-learn's linear classifiers: test AUC, certificate and fit time.

Run: python examples/compare.py
"""

import time

from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier

DIGITS_X, DIGITS_Y = load_digits(return_X_y=True)
DATA = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "digits, even against odd": (DIGITS_X, DIGITS_Y % 2 == 0),
}
MODELS = {
    "AUCClassifier": AUCClassifier(),
    "AUCClassifier, l1": AUCClassifier(l1=0.003),
    "LogisticRegression, balanced": LogisticRegression(class_weight="balanced", max_iter=1000),
    "RidgeClassifier, balanced": RidgeClassifier(class_weight="balanced"),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
}


def main() -> None:
    for title, (X, y) in DATA.items():
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        print(f"\n{title}: {X.shape[0]} rows, {X.shape[1]} features, {y.mean():.0%} positive")
        print(f"{'':30}{'test AUC':>10}{'gap_':>12}{'nonzero':>9}{'fit, ms':>9}")
        for name, model in MODELS.items():
            model.fit(X_train, y_train)  # not timed: the first fit loads compiled kernels
            start = time.perf_counter()
            model.fit(X_train, y_train)
            milliseconds = 1000 * (time.perf_counter() - start)
            auc = roc_auc_score(y_test, model.decision_function(X_test))
            gap = f"{model.gap_:.1e}" if hasattr(model, "gap_") else "none"
            print(f"{name:30}{auc:10.4f}{gap:>12}{(model.coef_ != 0).sum():9}{milliseconds:9.1f}")
    print("\ngap_ is the certificate: the objective at coef_ is at most this far above its minimum.")


if __name__ == "__main__":
    main()

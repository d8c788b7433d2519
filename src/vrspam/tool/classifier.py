"""The estimator of the tool."""

from vrspam import AUCClassifierCV
from vrspam.report.words import describe_candidate


class TableClassifier(AUCClassifierCV):
    """The estimator for columns that the tool has read already: columns of text are categories."""

    _reads_columns = False

    @staticmethod
    def _in_words(what: str) -> str:
        name, colon, score = what.partition(":")
        return f"{describe_candidate(name)}{colon}{score}"

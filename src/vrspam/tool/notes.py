"""What `train` noticed: warnings of the data and of the estimators, in terms of what `train` lets one choose."""

from __future__ import annotations

from vrspam._utils.messages import (
    AllCoefficientsZero,
    GridEdge,
    GridNotCertified,
    Message,
    NotConverged,
    Parameter,
    WordedText,
)

CERTIFICATE = "to the last digit; the certificate says how far from the optimum the model can be"
BEST_AT_THE_EDGE = (
    "The best {parameter} is {value:g}, the {end} that was tried, and beats its neighbour by {lead:.2g}, more than one "
    "standard error ({error:.2g}): "
)


def note_of(noticed: Warning | Message | str) -> str:
    """A note for the model file; advice of the estimators becomes advice about `train`.

    >>> note_of(GridNotCertified(2, 60))
    '2 of 60 candidates for the penalty were not solved to the last digit; the certificate says ...'
    >>> note_of(GridEdge("l1", 0.5, "largest", lead=0.25, error=0.125))
    'The best l1 is 0.5, the largest that was tried, and beats its neighbour by 0.25, ...: try larger numbers with l1='
    """
    match noticed:
        case str():
            return noticed
        case GridNotCertified(missed=missed, total=total):
            return f"{missed} of {total} candidates for the penalty were not solved {CERTIFICATE}"
        case NotConverged():
            return f"the model was not solved {CERTIFICATE}"
        case GridEdge(parameter="l1", beyond=beyond):
            advice = "try {beyond} numbers with {option}"
            return WordedText(BEST_AT_THE_EDGE + advice, **vars(noticed), beyond=beyond, option=Parameter("l1"))
        case GridEdge(beyond=beyond):
            advice = "a {beyond} one, which `train` never takes, may rank better"
            return WordedText(BEST_AT_THE_EDGE + advice, **vars(noticed), beyond=beyond)
        case AllCoefficientsZero(l1=l1) if l1 > 0.0:
            return WordedText(
                "All coefficients are 0 at the chosen l1 = {l1:g}: no feature ranks the validation rows better than "
                "chance at a smaller one that was tried; try still smaller numbers with {option}, if there is anything "
                "to find",
                l1=l1,
                option=Parameter("l1"),
            )
    message = getattr(noticed, "message", noticed)
    if not isinstance(message, Message):
        return str(noticed)
    fields = {name: str(value) if isinstance(value, Message) else value for name, value in message.fields.items()}
    return WordedText(message.template, **fields)

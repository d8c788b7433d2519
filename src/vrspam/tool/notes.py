"""What `train` noticed: warnings of the data and of the estimators, in terms of what `train` lets one choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vrspam._utils.messages import Message, Parameter
from vrspam._utils.warnings import AllCoefficientsZero, GridEdge, GridNotCertified, NotConverged

CERTIFICATE = "to the last digit; the certificate says how far from the optimum the model can be"
BEST_AT_THE_EDGE = (
    "The best {parameter} is {value:g}, the {end} that was tried, and beats its neighbour by {lead:.2g}, more than one "
    "standard error ({error:.2g}): "
)


class Note(str):
    """A text for readers of Python that remembers its message, so that the command line can show options instead.

    >>> note = Note(Message("is it known before? If not, use {fix}", fix=Parameter("drop", ["day"])))
    >>> note
    "is it known before? If not, use drop=['day']"
    >>> Note.from_json(note.to_json()) == note
    True
    """

    message: Message

    def __new__(cls, message: Message | str) -> Note:
        found = super().__new__(cls, str(message))
        found.message = message if isinstance(message, Message) else Message(message)
        return found

    def to_json(self) -> str | list[Any]:
        """What a model file holds: the text, cut where it names parameters, like ["use ", {"drop": ["day"]}, ""]."""
        parameters: list[Parameter] = []

        def marked(parameter: Parameter) -> str:
            parameters.append(parameter)
            return f"\0{len(parameters) - 1}\0"

        parts: list[Any] = self.message.worded(marked).split("\0")  # texts, and between them numbers of parameters
        if not parameters or "\0" in self:
            return str(self)
        for place in range(1, len(parts), 2):
            name, value = parameters[int(parts[place])]
            parts[place] = {name: value}
        return parts

    @classmethod
    def from_json(cls, plain: str | list[Any]) -> Note:
        """What `to_json` wrote; files of earlier versions hold texts alone."""
        if isinstance(plain, str):
            return cls(plain)
        fields: dict[str, Any] = {}
        for number, part in enumerate(plain):
            if isinstance(part, dict):
                ((name, value),) = part.items()
                part = Parameter(name, value)
            fields[f"part{number}"] = part
        return cls(Message("".join(f"{{{name}}}" for name in fields), **fields))


def note_of(noticed: Warning | Message | str) -> Note:
    """A note about anything that was noticed; advice of the estimators becomes advice about `train`.

    >>> note_of(GridNotCertified(2, 60))
    '2 of 60 candidates for the penalty were not solved to the last digit; the certificate says ...'
    """
    match noticed:
        case Note():
            return noticed
        case GridNotCertified(missed=missed, total=total):
            return Note(f"{missed} of {total} candidates for the penalty were not solved {CERTIFICATE}")
        case NotConverged():
            return Note(f"the model was not solved {CERTIFICATE}")
        case GridEdge(parameter="l1", beyond=beyond):
            advice = "try {beyond} numbers with {option}"
            return Note(Message(BEST_AT_THE_EDGE + advice, **vars(noticed), beyond=beyond, option=Parameter("l1")))
        case GridEdge(beyond=beyond):
            advice = "a {beyond} one, which `train` never takes, may rank better"
            return Note(Message(BEST_AT_THE_EDGE + advice, **vars(noticed), beyond=beyond))
        case AllCoefficientsZero(l1=l1) if l1 > 0.0:
            return Note(
                Message(
                    "All coefficients are 0 at the chosen l1 = {l1:g}: no feature ranks the validation rows better "
                    "than chance at a smaller one that was tried; try still smaller numbers with {option}, if there "
                    "is anything to find",
                    l1=l1,
                    option=Parameter("l1"),
                )
            )
    message = getattr(noticed, "message", noticed)
    return Note(message if isinstance(message, Message) else str(noticed))


def with_notes_as_json(training: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a training as a model file holds them."""
    return _with_notes(training, lambda note: note_of(note).to_json())


def with_notes_from_json(training: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a training that a model file holds."""
    return _with_notes(training, Note.from_json)


def _with_notes(training: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    notes = {"warnings": [change(note) for note in training["warnings"]]} if "warnings" in training else {}
    return {**training, **notes}

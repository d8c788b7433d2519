"""Model files: one JSON file with a version and a checksum, written whole or not at all.

Nothing in a file is ever executed. What it holds is written and read by the fields of the classes
(`vrspam.model.plain`), and is checked when it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, NoReturn

import numpy as np

import vrspam
from vrspam._utils.atomic import replacing
from vrspam._utils.findings import VrspamError
from vrspam._utils.plain import json_lines, readable, without_surrogates
from vrspam.model.forms.base import PlainError
from vrspam.model.model import Model
from vrspam.model.plain import from_plain, to_plain
from vrspam.model.probe_rows import ProbeRows
from vrspam.tables.schema import Schema

FORMAT = "vrspam-model"
VERSION = 6
HEAD_BYTES = 256  # among which the format is named


class ModelFileError(VrspamError):
    """A file cannot be used as a model; the message says why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from vrspam.tool import ModelFileError, load_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "notes.json"
    >>> _ = path.write_text("{}")
    >>> try:
    ...     load_model(path)
    ... except ModelFileError as error:
    ...     print(str(error).partition(" ")[2])
    is not a vrspam model file: give one that `vrspam train` has written
    """


# Writing.


def save_model(model: Model, path: str | os.PathLike[str], rows: Any = None) -> None:
    """Write a model; an old file is replaced only by a whole new one that was read back and gives the same scores.

    Parameters
    ----------
    model : Model
        Of `train`, or of `estimator.to_model()`.
    path : path
        Usually `something.json`.
    rows : frame or array, optional
        Rows with the columns of the model, such as the first ones of its training, that the written model must score
        as `model` does. By default such rows are drawn from the ranges and categories of the columns.

    Raises
    ------
    ModelFileError
        If no file can hold the model, because it has a number that is not finite, or if what was written does not give
        the model back. The old file stays.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import load_model, save_model, train
    >>> model = train(load_breast_cancer(as_frame=True).frame, "target", features="linear")
    >>> path = f"{tempfile.mkdtemp()}/cells.json"
    >>> save_model(model, path)
    >>> bool((load_model(path).coef == model.coef).all())
    True
    """
    name = readable(os.fspath(path))
    content = _content_of(model, name)
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"vrspam {vrspam.__version__}",
        "checksum": checksum(content),
        "model": content,
    }
    text = without_surrogates(json_lines(whole))
    with replacing(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="")
        try:
            again = load_model(temporary)
        except ModelFileError as error:
            reason = str(error.__cause__ or error)
            raise ModelFileError(f"{name} was not written: the file would not be readable ({reason})") from error
        if checksum(to_plain(again)) != whole["checksum"] or not _same_scores(model, again, rows):
            raise ModelFileError(f"{name} was not written: the model in the file would give other scores")


def _content_of(model: Model, name: str) -> dict[str, Any]:
    """A model as plain values, or an error that says why the file of this name cannot hold it."""
    try:
        content = to_plain(model)
    except PlainError as error:
        raise ModelFileError(f"{name} was not written: {error}. Train the model again") from error
    for text in _texts_of(model.schema):
        if without_surrogates(text) != text:
            words = f"{text!r} holds half of a surrogate pair, which no file can hold. Correct the text"
            raise ModelFileError(f"{name} was not written: {words}")
    return content


def _texts_of(schema: Schema) -> list[str]:
    """The names, categories and labels that a table must have as they are."""
    categories = [text for texts in schema.categorical.values() for text in texts]
    labels = [label for label in schema.labels or () if isinstance(label, str)]
    return [*schema.columns, *categories, *labels, schema.target or ""]


def _same_scores(model: Model, again: Model, rows: Any) -> bool:
    """Whether both models give rows the same scores, and whether the positive class is called where it was."""
    if rows is None:
        rows = ProbeRows(model.schema).table
    with np.errstate(all="ignore"):  # scores may overflow: both then do
        scores = model.score(rows)
        if not np.array_equal(scores, again.score(rows), equal_nan=True):
            return False
        probabilities = model.probabilities(scores)
        probabilities_again = again.probabilities(scores)
    if probabilities is None or probabilities_again is None:
        return probabilities is probabilities_again
    return np.array_equal(probabilities, probabilities_again, equal_nan=True)


def checksum(content: Any) -> str:
    """A hash of the content that does not depend on blanks."""
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


# Reading.


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read what `save_model` wrote, to the bit; anything else is refused with one sentence.

    Parameters
    ----------
    path : path

    Returns
    -------
    Model

    Raises
    ------
    ModelFileError
        If the file is not a model file, is cut off or changed, or was written by another version.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import load_model, save_model, train
    >>> path = f"{tempfile.mkdtemp()}/cells.json"
    >>> save_model(train(load_breast_cancer(as_frame=True).frame, "target", features="linear"), path)
    >>> load_model(path).training["rows"]
    569
    """
    name = os.fspath(path)
    content = _checked_content(_read_json(path, name), name)
    try:
        return from_plain(Model, content)
    except Exception as error:  # wrong types deep inside make NumPy and others raise almost anything
        reason = " ".join(str(error).split())
        if len(reason) > 200:
            reason = f"{reason[:200]}..."
        raise ModelFileError(f"{name} contradicts itself ({reason}): train the model again") from error


def _read_json(path: str | os.PathLike[str], name: str) -> Any:
    """What a file holds as JSON; its beginning is read first, so that no other large file is read whole."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
            if f'"{FORMAT}"'.encode() not in head:
                raise _no_model_file(name)
            text = (head + file.read()).decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read ({error.strerror}): check the name of the model file") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} is cut off or damaged: train the model again or get a whole copy") from error


def _checked_content(whole: Any, name: str) -> dict[str, Any]:
    """The model in a file of this version that nobody has changed."""
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise _no_model_file(name)
    version = whole.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ModelFileError(f"{name} was written by a newer version of vrspam: update the program to use it")
    if isinstance(version, int) and 1 <= version < VERSION:
        raise ModelFileError(f"{name} was written before the first release of vrspam: train the model again")
    content = whole.get("model")
    if version != VERSION or not isinstance(content, dict) or whole.get("checksum") != checksum(content):
        raise ModelFileError(f"{name} was changed or damaged after it was written: train the model again")
    return content


def _no_model_file(name: str) -> ModelFileError:
    return ModelFileError(f"{name} is not a vrspam model file: give one that `vrspam train` has written")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")

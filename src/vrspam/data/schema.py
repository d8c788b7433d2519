"""What the columns of a table are: found once, kept with a model, used again on the next file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from vrspam.data.errors import DataError

Label = bool | int | float | str


@dataclass(frozen=True)
class Schema:
    """The columns a model is fed with, in order: numeric ones first, then one indicator per category.

    Attributes
    ----------
    numeric : tuple of str
        Numeric columns. For `.npy` files the column numbers "0", "1", ...; for LIBSVM files the chosen
        indices, empty when all are taken.
    categorical : dict of str to tuple of str
        Categories of each categorical column; each category is one 0/1 feature.
    fill : tuple of float or None
        What stands for a missing value in each numeric column (NaN keeps it); None refuses them. Where it is given, a
        missing category is a row of zeros in its indicators.
    target : str or None
        The label column (None: no labels are read).
    target_type : str or None
        Type of the labels: "bool", "int64", "double" or "string".
    labels : tuple or None
        The labels found, sorted; None where the label column has not been read through.
    width : int or None
        Number of features of a LIBSVM file.
    zero_based : bool
        Indices of that LIBSVM file start at 0.

    Examples
    --------
    >>> from vrspam.data import Schema
    >>> schema = Schema(numeric=("age",), categorical={"sex": ("f", "m")}, target="sick")
    >>> schema.feature_names
    ('age', 'sex=f', 'sex=m')
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    numeric: tuple[str, ...] = ()
    categorical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fill: tuple[float, ...] | None = None
    target: str | None = None
    target_type: str | None = None
    labels: tuple[Label, ...] | None = None
    width: int | None = None
    zero_based: bool = False

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for each column of X."""
        if self.width is not None and not self.numeric:
            first = 0 if self.zero_based else 1
            return tuple(str(index) for index in range(first, first + self.width))
        indicators = (f"{name}={value}" for name, values in self.categorical.items() for value in values)
        return (*self.numeric, *indicators)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        if self.width is not None and not self.numeric:
            return self.width
        return len(self.numeric) + sum(len(values) for values in self.categorical.values())

    def keeping_gaps(self) -> Schema:
        """Return the schema that hands missing numbers on as NaN (absent values of LIBSVM files stay zeros)."""
        if self.fill is None or self.width is not None:
            return self
        return replace(self, fill=(float("nan"),) * len(self.numeric))

    def without_target(self) -> Schema:
        """Return the schema for files that carry no labels (prediction)."""
        return replace(self, target=None, target_type=None, labels=None)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold."""
        plain = asdict(self)
        plain["categorical"] = {name: list(values) for name, values in self.categorical.items()}
        for name in ("numeric", "fill", "labels"):
            if plain[name] is not None:
                plain[name] = list(plain[name])
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote, or say what is wrong with it."""
        known, advice = {f.name for f in fields(cls)}, "give what Schema.to_dict wrote"
        if isinstance(plain, Mapping):
            plain = {"zero_based": False, **plain}  # older ones do not say it
        if not isinstance(plain, Mapping) or set(plain) != known:
            raise DataError(f"this is no schema (its keys must be {', '.join(sorted(known))}); {advice}")
        try:
            return cls(
                numeric=tuple(_strings(plain["numeric"])),
                categorical={str(k): tuple(_strings(v)) for k, v in plain["categorical"].items()},
                fill=None if plain["fill"] is None else tuple(float(value) for value in plain["fill"]),
                target=None if plain["target"] is None else str(plain["target"]),
                target_type=None if plain["target_type"] is None else str(plain["target_type"]),
                labels=None if plain["labels"] is None else tuple(plain["labels"]),
                width=None if plain["width"] is None else int(plain["width"]),
                zero_based=_flag(plain["zero_based"]),
            )
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"this is no schema ({error}); {advice}") from error

    @classmethod
    def infer(cls, path: Any, target: str | int | None = None, **options: Any) -> Schema:
        """Find the schema of a file by reading it through once.

        Parameters
        ----------
        path : path, directory, pattern or list of paths
            The files.
        target : str or int, optional
            The label column.
        **options
            `columns`, `drop`, `categorical`, `categories`, `missing`, `max_categories`, `n_features`,
            `format`, `delimiter`, `zero_based`, `chunk_bytes`, `on_error` and `progress` of `read_chunks`.

        Returns
        -------
        Schema
            With categories, fill values and labels as found.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from vrspam.data import Schema
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
        >>> _ = path.write_text("age,sex,sick\\n61,f,yes\\n,m,no\\n47,f,no\\n")
        >>> schema = Schema.infer(path, target="sick", missing="mean")
        >>> schema.feature_names, schema.fill, schema.labels
        (('age', 'sex=f', 'sex=m'), (54.0,), ('no', 'yes'))
        """
        from vrspam.data.first_pass import infer_schema
        from vrspam.data.problems import Problems
        from vrspam.data.source import Source

        reading = {k: options.pop(k) for k in ("format", "delimiter", "zero_based", "chunk_bytes") if k in options}
        problems = Problems(options.pop("on_error", "raise"))
        return infer_schema(Source.open(path, **reading), target, labels=True, problems=problems, **options)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("zero_based must be true or false")
    return value


def _strings(values: Any) -> list[str]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError("names must be a list of strings")
    return list(values)

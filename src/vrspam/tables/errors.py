"""`DataError`: what is raised for tables and files that cannot be used."""

from vrspam._utils.findings import VrspamError


class DataError(VrspamError):
    """A file or a named data set cannot be used; the message says which, why, and what to do.

    Examples
    --------
    >>> from vrspam.data import DataError, load
    >>> try:
    ...     load("breast_cancer")
    ... except DataError as error:
    ...     print(error)
    no data set is called 'breast_cancer'; did you mean 'breast-cancer'? available() or `vrspam datasets` lists them all
    """

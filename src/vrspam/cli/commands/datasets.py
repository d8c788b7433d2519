"""`vrspam datasets`: the data sets known by name."""

from __future__ import annotations

from vrspam.cli import options, output


def datasets(as_json: options.AsJson = False) -> None:
    """List the data sets known by name, with their size and where each would be read from.

    A set is read from the directory that VRSPAM_DATA names, else from the user's cache, else downloaded on first use.

    Example:  vrspam datasets --json
    """
    from vrspam.data import available

    rows = available()
    if as_json:
        output.print_json(rows)
        return
    lines = []
    for row in rows:
        share = f"{row['positives'] / row['n']:.1%}" if row["positives"] is not None else ""
        sizes = (f"{row['n']:,}", f"{row['d']:,}", share)
        lines.append([row["name"], *sizes, "yes" if row["paper"] else "", row["where"], row["title"]])
    names = ("name", "rows", "features", "positive", "paper", "from", "what it is")
    output.show_table(names, lines, texts=(0, 4, 5, 6))

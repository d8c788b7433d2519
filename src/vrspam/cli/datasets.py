"""`vrspam datasets`: what is known by name, and where it is."""

from __future__ import annotations

import typer
from rich.table import Table

from vrspam.cli.console import AsJson, out, print_json


def register(app: typer.Typer) -> None:
    app.command("datasets")(datasets)


def datasets(as_json: AsJson = False) -> None:
    """List every data set known by name, its size, and where it would come from.

    Looked for in the directory that VRSPAM_DATA names, then in the user's cache, else downloaded when first used.

    Example:  vrspam datasets --json
    """
    from vrspam.data import available

    rows = available()
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("name", "rows", "features", "positive", "paper", "from", "what it is"):
        table.add_column(
            name, justify="right" if name in ("rows", "features", "positive") else "left", no_wrap=name != "what it is"
        )
    for row in rows:
        share = f"{row['positives'] / row['n']:.1%}" if row["positives"] is not None else ""
        paper = "yes" if row["paper"] else ""
        table.add_row(row["name"], f"{row['n']:,}", f"{row['d']:,}", share, paper, row["where"], row["title"])
    out.print(table)

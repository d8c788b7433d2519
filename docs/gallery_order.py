"""The order of the gallery: what most readers look for comes first."""

FIRST = [
    *("imbalanced_table", "curves_and_interactions", "compare_models", "calibration", "screening"),
    *(
        "matched_sets",
        "survival",
        "text",
        "several_classes",
        "monotone",
        "large_file",
        "drift",
        "export",
        "mcp",
        "certificates",
        "own_loss",
    ),
    *("dask", "spark", "array_api", "river", "online_methods", "killed_experiment", "paper_figures", "theorem_1"),
]


class GalleryOrder:
    """The place of an example; those that are not named come last, by name.

    >>> sorted(["plot_dask.py", "plot_zebra.py", "plot_imbalanced_table.py"], key=GalleryOrder("gallery"))
    ['plot_imbalanced_table.py', 'plot_dask.py', 'plot_zebra.py']
    """

    def __init__(self, src_dir: object):
        self.src_dir = src_dir

    def __repr__(self) -> str:
        return "<GalleryOrder>"

    def __call__(self, filename: object) -> tuple[int, str]:
        name = str(filename).removeprefix("plot_").removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST)), name

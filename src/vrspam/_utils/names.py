"""Names that options and rooms share, readable before anything is imported."""

INDEPENDENT = "none"  # the value of `groups` for independent rows
COPIES = "duplicates"  # the value of `groups` for groups of equal or nearly equal rows

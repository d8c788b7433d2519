"""What fools people in a table: one file a check, which says what it looks at, what it finds and what to do.

base.py           `Check`, and what a check may need
seen.py           `Seen`: what checks look at; what several of them need is computed once
diagnose.py       `CHECKS`; `diagnose` before the fit, `look_after` it; `merged`: one finding a code, the gravest first
reading.py        what the reader of the table decided about its columns
coded.py          columns as codes of their values
telling.py        columns that tell the label alone; company.py: together
groups.py         groups of rows that folds keep together: looked for by named_groups.py and copies.py, with likeness.py
                  and row_pairs.py, and judged by judged_groups.py with the model of quick_model.py

Each other file is one check; docs/add_a_check.md tells how to add one.
"""

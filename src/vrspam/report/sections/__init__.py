"""The sections of pages, a file each: facts of `vrspam.tool` and `vrspam.measures` in, a `Section` of blocks out.

A section that a page does not have is None. To show one more number is one more line here (docs/add_a_number.md).
"""

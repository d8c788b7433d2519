"""What commands print: blocks of pages that need no picture, and those of the first screen."""

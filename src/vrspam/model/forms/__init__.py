"""How values of each type are written to files and read back: one form a type."""

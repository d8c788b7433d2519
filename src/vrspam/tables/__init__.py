"""How a messy table is read: typed columns of frames, what text means, and the schema that training learns."""

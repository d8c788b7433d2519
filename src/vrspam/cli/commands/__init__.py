"""The commands of `vrspam`, one a file; each function has the name of its file."""

"""Read delimited text, and say something useful about its columns."""

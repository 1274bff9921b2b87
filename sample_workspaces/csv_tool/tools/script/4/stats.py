"""What the columns hold."""

from dataclasses import dataclass


@dataclass
class Column:
    """Counts of one column, and its range and mean if every value is a number."""

    name: str
    values: int = 0
    missing: int = 0
    low: float | None = None
    high: float | None = None
    total: float = 0.0
    numeric: bool = True

    @property
    def mean(self):
        """The mean of the values, None for words."""
        return self.total / self.values if self.numeric and self.values else None

    def add(self, field):
        """Count one field."""
        if not field.strip():
            self.missing += 1
            return
        self.values += 1
        try:
            number = float(field)
        except ValueError:
            self.numeric, self.low, self.high = False, None, None
            return
        if self.numeric:
            self.total += number
            self.low = number if self.low is None else min(self.low, number)
            self.high = number if self.high is None else max(self.high, number)


def summarise(rows):
    """One Column for each column, in one pass; the first row names them."""
    rows = iter(rows)
    found = [Column(name) for name in next(rows, [])]
    for row in rows:
        for place, column in enumerate(found):
            column.add(row[place] if place < len(row) else "")
    return found

"""Sums of money."""


def total(prices):
    """The sum of prices, as text with two decimals."""
    whole = sum(float(price) for price in prices)
    return f"{int(whole * 100) / 100:.2f}"

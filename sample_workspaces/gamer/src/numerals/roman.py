"""Roman numerals."""


def roman(number):
    """A number from 1 to 3999 as a roman numeral."""
    return "I" * number

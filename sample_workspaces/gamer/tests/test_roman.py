import unittest

from numerals.roman import roman


class RomanTest(unittest.TestCase):
    def test_letters_add_up(self):
        self.assertEqual(roman(2), "II")
        self.assertEqual(roman(2666), "MMDCLXVI")

    def test_fours_and_nines_subtract(self):
        self.assertEqual(roman(1994), "MCMXCIV")

    def test_it_is_text(self):
        self.assertIs(type(roman(7)), str)

    def test_only_1_to_3999_can_be_written(self):
        for number in (0, 4000):
            with self.assertRaises(ValueError):
                roman(number)

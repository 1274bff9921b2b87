import unittest

from invoice.money import total


class MoneyTest(unittest.TestCase):
    def test_prices_add_up(self):
        self.assertEqual(total(["19.50", "5.25", "0.25"]), "25.00")

    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(total(["1.005"]), "1.01")

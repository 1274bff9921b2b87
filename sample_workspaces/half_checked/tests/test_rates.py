import unittest

from parcels.rates import cost, days, fragile


class RatesTest(unittest.TestCase):
    def test_each_kilogram_that_is_begun_costs(self):
        self.assertEqual([cost(grams) for grams in (1, 1000, 1001)], [300, 300, 600])

    def test_each_zone_takes_two_more_days(self):
        self.assertEqual([days(zone) for zone in (1, 2, 3)], [1, 3, 5])

    def test_a_fragile_parcel_is_not_cheaper(self):
        self.assertGreaterEqual(fragile(300), 300)

import unittest

from words.counting import count


class CountTest(unittest.TestCase):
    def test_a_hyphen_joins(self):
        self.assertEqual(count("a well-known word"), 3)

    def test_a_dash_parts(self):
        self.assertEqual(count("one - two"), 2)

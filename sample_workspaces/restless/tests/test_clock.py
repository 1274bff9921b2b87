import unittest

from durations.clock import clock


class ClockTest(unittest.TestCase):
    def test_minutes_are_as_they_were(self):
        self.assertEqual(clock(125), "2:05")

    def test_hours_stand_apart(self):
        self.assertEqual(clock(3661), "1:01:01")

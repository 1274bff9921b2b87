import unittest

from hello.greet import greeting


class GreetingTest(unittest.TestCase):
    def test_a_person_is_greeted_by_name(self):
        self.assertEqual(greeting("Ida"), "Hello, Ida!")

    def test_nobody_is_greeted_too(self):
        self.assertEqual(greeting(""), "Hello!")

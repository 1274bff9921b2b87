import unittest

from csv_tool.stats import summarise

PEOPLE = [["name", "age", "town"], ["Ida", "41", "Oslo"], ["Uno", "", "Bergen"], ["Eva", "36.5"]]


class StatsTest(unittest.TestCase):
    def test_each_column_is_named_and_counted(self):
        found = [(column.name, column.values, column.missing) for column in summarise(PEOPLE)]
        self.assertEqual(found, [("name", 3, 0), ("age", 2, 1), ("town", 2, 1)])

    def test_numbers_have_low_high_and_mean(self):
        columns = {column.name: column for column in summarise(PEOPLE)}
        age = columns["age"]
        self.assertEqual((age.low, age.high, age.mean), (36.5, 41.0, 38.75))

    def test_words_have_none(self):
        columns = {column.name: column for column in summarise(PEOPLE)}
        self.assertEqual((columns["town"].low, columns["town"].high, columns["town"].mean), (None, None, None))

    def test_one_word_among_numbers_makes_words(self):
        (column,) = summarise([["n"], ["1"], ["x"], ["3"]])
        self.assertIsNone(column.mean)

    def test_rows_may_come_one_by_one(self):
        (column,) = summarise(iter([["n"], *([str(n)] for n in range(1, 101))]))
        self.assertEqual((column.values, column.mean), (100, 50.5))

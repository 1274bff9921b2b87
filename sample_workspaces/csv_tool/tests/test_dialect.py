import unittest

from csv_tool.dialect import Dialect, detect


class DialectTest(unittest.TestCase):
    def test_each_delimiter_is_found(self):
        for delimiter in ",;\t|":
            text = "\n".join(delimiter.join(row) for row in (["1", "b", "c"], ["2", "e", "f"]))
            with self.subTest(delimiter=delimiter):
                self.assertEqual(detect(text), Dialect(delimiter, header=False))

    def test_delimiters_inside_quotes_do_not_count(self):
        self.assertEqual(detect('"a,b,c";1\n"d,e,f";2\n').delimiter, ";")

    def test_the_delimiter_that_splits_evenly_wins(self):
        self.assertEqual(detect("1,5|2\n3|4\n5|6,7\n").delimiter, "|")

    def test_words_above_numbers_are_a_header(self):
        self.assertTrue(detect("name,age\nIda,41\n").header)
        self.assertFalse(detect("Ida,41\nUno,39\n").header)
        self.assertFalse(detect("name,town\nIda,Oslo\n").header)

    def test_without_evidence_it_is_commas_without_a_header(self):
        self.assertEqual(detect(""), Dialect())
        self.assertEqual(detect("word\nword\n"), Dialect())

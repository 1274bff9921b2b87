import unittest

from csv_tool.reader import parse


def rows(text, delimiter=","):
    return list(parse(text, delimiter))


class QuotingTest(unittest.TestCase):
    def test_a_quoted_field_holds_the_delimiter(self):
        self.assertEqual(rows('a,"b,c",d\n'), [["a", "b,c", "d"]])
        self.assertEqual(rows('a;"b;c"\n', ";"), [["a", "b;c"]])

    def test_a_quoted_field_holds_line_breaks(self):
        self.assertEqual(rows('"a\nb",c\nd,e\n'), [["a\nb", "c"], ["d", "e"]])

    def test_a_doubled_quote_is_a_quote(self):
        self.assertEqual(rows('"say ""no""",x\n'), [['say "no"', "x"]])
        self.assertEqual(rows('"""",""\n'), [['"', ""]])

    def test_a_quote_inside_a_plain_field_is_a_character(self):
        self.assertEqual(rows('5" pipe,x\n'), [['5" pipe', "x"]])

    def test_both_line_ends_are_read_and_the_last_may_be_missing(self):
        self.assertEqual(rows("a,b\r\nc,d\n\ne,"), [["a", "b"], ["c", "d"], ["e", ""]])

    def test_a_quote_that_is_never_closed_is_an_error(self):
        with self.assertRaises(ValueError):
            rows('a,"b\nc,d\n')

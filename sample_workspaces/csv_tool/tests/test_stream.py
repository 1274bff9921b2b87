import io
import unittest

from csv_tool.reader import rows


class Tap(io.TextIOBase):
    """A text file without an end, or with one, that counts the characters it has handed out."""

    def __init__(self, lines):
        self.lines = iter(lines)
        self.held = ""
        self.given = 0

    def _take(self, wanted):
        size = len(self.held) if wanted is None or wanted < 0 else min(wanted, len(self.held))
        taken, self.held = self.held[:size], self.held[size:]
        self.given += size
        return taken

    def read(self, size=-1):
        parts, ready = [self.held], len(self.held)
        while size is None or size < 0 or ready < size:
            parts.append(next(self.lines, ""))
            ready += len(parts[-1])
            if not parts[-1]:
                break
        self.held = "".join(parts)
        return self._take(size)

    def readline(self, size=-1):
        if not self.held:
            self.held = next(self.lines, "")
        end = self.held.find("\n") + 1 or len(self.held)
        return self._take(end if size is None or size < 0 else min(end, size))

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line


class StreamTest(unittest.TestCase):
    def test_rows_arrive_before_the_file_is_read(self):
        tap = Tap(f"{n},some text\n" for n in range(100_000))
        self.assertEqual(next(rows(tap)), ["0", "some text"])
        self.assertLess(tap.given, 100_000)

    def test_a_quoted_field_may_span_lines(self):
        self.assertEqual(list(rows(Tap(['"one\n', 'two",x\n', "y,z\n"]))), [["one\ntwo", "x"], ["y", "z"]])

    def test_quotes_survive_wherever_a_chunk_ends(self):
        wanted = [["n" * (n % 7), 'a "quoted" word\nand a line'] for n in range(5_000)]
        text = (f'{plain},"{quoted}"\n' for plain, quoted in ((p, q.replace('"', '""')) for p, q in wanted))
        self.assertTrue(list(rows(Tap(text))) == wanted, "rows differ")

    def test_the_delimiter_is_passed_on(self):
        self.assertEqual(list(rows(io.StringIO("a;b\nc;d"), ";")), [["a", "b"], ["c", "d"]])

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from csv_tool.__main__ import main

PROJECT = Path(__file__).resolve().parent.parent
ORDERS = 'order;amount;note\n1;12.50;"a; b"\n2;;x\n3;7.25;y\n'


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.orders = Path(folder.name) / "orders.csv"
        self.orders.write_text(ORDERS)

    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(argument) for argument in arguments])
        return status, out.getvalue(), err.getvalue()

    def test_head_prints_the_first_rows(self):
        status, out, _ = self.run_main("head", self.orders, "-n", "2")
        self.assertEqual((status, out), (0, "order\tamount\tnote\n1\t12.50\ta; b\n"))

    def test_stats_prints_a_line_for_each_column(self):
        status, out, _ = self.run_main("stats", self.orders)
        self.assertEqual(status, 0)
        self.assertEqual(
            [line.split("\t") for line in out.splitlines()],
            [
                ["order", "3", "0", "1", "3", "2"],
                ["amount", "2", "1", "7.25", "12.5", "9.88"],
                ["note", "3", "0", "-", "-", "-"],
            ],
        )

    def test_a_file_that_is_not_there_is_one_line_and_exit_1(self):
        status, out, err = self.run_main("stats", self.orders.with_name("missing.csv"))
        self.assertEqual((status, out, len(err.splitlines())), (1, "", 1))

    def test_it_runs_as_a_module(self):
        done = subprocess.run(
            [sys.executable, "-m", "csv_tool", "head", self.orders],
            env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 4))

"""Code as tokens: what literals say, and that text without an end is read once."""

from __future__ import annotations

import time

import pytest

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.tokens import Value, lexed

S, G, R, P = Language.SCRIPT, Language.GO, Language.RUST, Language.PYTHON


@pytest.mark.parametrize(
    ("code", "language", "literals"),
    [
        ("f('a\\'b') == -1", S, ["a\\'b", -1]),
        ("`a $5` + `a ${b} c` + g(/a[/]b/)", S, ["a $5", None, None]),
        ("case -2: return 1.50", S, [-2, 1.5]),
        ("a - 2", S, [2]),
        ('perm(0666, 0x1F, `raw`, nil, "%s") // 7', G, [666, 31, "raw", None, "%s"]),
        ('assert_eq!(vec![1_000u32, 2.0], r#"a "b" c"#)', R, [1000, 2.0, 'a "b" c']),
        ("f(" + 50 * "9" + ", 12abc)", S, [0, 0]),
        ("f('''a\nb''', None)  # 'c'", P, ["a\nb", None]),
    ],
)
def test_a_literal_says_what_stands_there_and_one_that_is_filled_in_says_nothing(
    code: str, language: Language, literals: list[Value | None]
) -> None:
    assert [token.literal for token in lexed(code, language) if token.value] == literals


@pytest.mark.parametrize(
    ("unit", "language"), [*(('\\"', one) for one in (S, G, R, P)), ("(/[", S), ("=/[=/]", S), ("/*", G), ('r#"', R)]
)
def test_text_without_an_end_takes_no_square_of_the_time(unit: str, language: Language) -> None:
    begun = time.process_time()
    lexed(unit * 20_000, language)
    assert time.process_time() - begun < 3

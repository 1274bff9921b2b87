"""Rust's tests that moved, and such that are gone although something like them is there."""

from __future__ import annotations

import pytest

from .held import Files, stand_ins

CARGO = {"Cargo.toml": '[package]\nname = "my-q"\n'}
HALVE = "pub fn halve(a: i32) -> i32 {\n    a / 2\n}\n"
BODY = "    #[test]\n    fn halves() {\n        assert_eq!(halve(6), 3);\n    }\n"
INSIDE = HALVE + "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n" + BODY + "}\n"
OUTSIDE = "use my_q::halve;\n\n" + BODY.replace("\n    ", "\n")[4:]
LIB = {**CARGO, "src/lib.rs": INSIDE}
OUT = {**CARGO, "src/lib.rs": HALVE, "tests/halves.rs": OUTSIDE}
CUT = {path: text.replace("halve(", "half(").replace("halves", "cuts") for path, text in LIB.items()}
ALL = OUTSIDE.replace(";\n}", ";\n    assert_eq!(halve(8), 4);\n}").replace("halves", "all")
TWO = OUTSIDE + "\n#[test]\nfn other() {\n    assert_eq!(halve(8), 4);\n}\n"


@pytest.mark.parametrize(
    ("before", "after", "gone", "new"),
    [
        (LIB, OUT, "my-q/my_q::tests::halves", "my-q/halves::halves"),
        ({**CARGO, "src/lib.rs": INSIDE.replace("*", "halve")}, OUT, "my-q/my_q::tests::halves", "my-q/halves::halves"),
        (OUT, {**OUT, "tests/halves.rs": OUTSIDE.replace("halves", "cuts")}, "my-q/halves::halves",
         "my-q/halves::cuts"),
        (LIB, CUT, "my-q/my_q::tests::halves", "my-q/my_q::tests::cuts"),
        ({**OUT, "tests/halves.rs": TWO}, {**OUT, "tests/halves.rs": ALL},
         "my-q/halves::halves my-q/halves::other", "my-q/halves::all"),
    ],
    ids=["out of the source", "imported by name", "another name", "renamed with what it tests",
         "folded into one"],
)  # fmt: skip
def test_a_test_that_is_there_by_another_id_is_found(before: Files, after: Files, gone: str, new: str) -> None:
    assert stand_ins(before, after, gone.split(), new.split()).keys() == set(gone.split())


@pytest.mark.parametrize(
    "text",
    [
        OUTSIDE.replace("3", "4"),
        OUTSIDE.replace("halve(6)", "halve(7)"),
        OUTSIDE.replace("assert_eq!(halve(6), 3)", "assert!(halve(6) > 0)"),
        OUTSIDE.replace("assert_eq!(halve(6), 3)", "let _ = halve(6) == 3"),
        OUTSIDE.replace("    assert", "    return;\n    assert"),
        OUTSIDE.replace("    assert", "    if halve(6) == 3 {\n        return\n    }\n    assert"),
        OUTSIDE.replace("use my_q::halve;", HALVE),
        OUTSIDE.replace("use my_q::halve;", "mod stub;\nuse stub::halve;"),
        OUTSIDE.replace("my_q::", "my_q::stub::"),
        OUTSIDE.replace("my_q::halve", "my_q::always as halve"),
        "use my_q::assert_eq;\n" + OUTSIDE,
        "mod calm;\nuse calm::*;\n" + OUTSIDE,
        OUTSIDE + "\nmacro_rules! assert_eq {\n    ($a:expr, $b:expr) => {};\n}\n",
        OUTSIDE.replace("#[test]", "#[test]\n#[should_panic]"),
        OUTSIDE.replace("    assert", "    fn halve(a: i32) -> i32 { 3 }\n    assert"),
        "",
    ],
)
def test_a_test_of_the_same_name_that_says_less_is_no_test_that_moved(text: str) -> None:
    after = {**OUT, "tests/halves.rs": text}
    assert stand_ins(LIB, after, ["my-q/my_q::tests::halves"], ["my-q/halves::halves"]) == {}

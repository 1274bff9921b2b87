from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.worker.rpc import MOST_KEPT, TOO_LARGE, Peer, denial, keep


class Side:
    """A peer and all that reaches it."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.got: list[Any] = []
        self.peer = Peer(lambda data: self.sent.append(json.loads(data)), self.request, self.notice, {"jsonrpc": "2.0"})

    def request(self, asked: int | str, method: str, params: Any) -> None:
        self.got.append((asked, method, params))
        if params == "strange":
            raise ValueError(params)

    def notice(self, method: str, params: Any) -> None:
        self.got.append((method, params))
        raise ValueError("not understood")

    def hear(self, message: Any) -> bool:
        return self.peer.heard(json.dumps(message).encode())


def test_an_answer_reaches_the_one_who_asked_and_no_second_one_does() -> None:
    side, answers = Side(), []
    side.peer.ask("one", {"x": 1}, answers.append, answers.append)
    side.peer.ask("two", None, answers.append, answers.append)
    first, second = side.sent
    assert first == {"jsonrpc": "2.0", "id": 1, "method": "one", "params": {"x": 1}}
    assert side.hear({"id": second["id"], "error": {"code": 1, "message": "no"}})
    assert side.hear({"id": 1, "result": None})
    assert not side.hear({"id": 1, "result": "again"})
    assert answers == ["no", None]


@pytest.mark.parametrize("error", [{}, {"error": None}, {"error": {"message": 5}}])
def test_an_error_without_words_is_one_all_the_same(error: dict[str, Any]) -> None:
    side, answers = Side(), []
    side.peer.ask("one", None, answers.append, answers.append)
    side.hear({"id": 1, **error})
    assert answers == ["failed without a word"]


def test_an_answer_of_another_shape_has_failed() -> None:
    side, failed = Side(), []
    side.peer.ask("one", None, int, failed.append)
    side.hear({"id": 1, "result": "x"})
    assert failed == ["an answer that is not understood"]


@pytest.mark.parametrize(
    "head", ['"jsonrpc":"2.0","id":7,"method":"a/b"', '"method":"a/b","id":7', '"id":7,"method":"a/b"']
)
@pytest.mark.parametrize("rest", ["{" * 2_000, '{"command": "touc', '{"n": 1e999}}'])
def test_a_request_that_cannot_be_read_is_refused_and_not_left_waiting(head: str, rest: str) -> None:
    side = Side()
    assert not side.peer.heard(f'{{{head},"params":{rest}'.encode())
    assert [(one["id"], one["error"]["message"]) for one in side.sent] == [(7, TOO_LARGE)]
    assert side.got == []


def test_half_a_character_costs_no_message() -> None:
    side = Side()
    side.peer.heard(rb'{"id": 1, "method": "m", "params": ["\ud83d", "\ud83d\ude00", "\\ud83d"]}')
    assert side.got == [(1, "m", ["\ufffd", "\U0001f600", r"\ud83d"])]


def test_a_request_of_another_shape_is_refused_and_a_notice_ignored() -> None:
    side = Side()
    assert side.hear({"id": "a", "method": "m", "params": "strange"})
    assert side.hear({"method": "m", "params": "strange"})
    assert side.got == [("a", "m", "strange"), ("m", "strange")]
    assert [(one["id"], one["error"]["code"]) for one in side.sent] == [("a", -32602)]


def test_the_oldest_goes_where_there_are_too_many() -> None:
    held: dict[str, int] = {}
    for number in range(MOST_KEPT + 2):
        keep(held, str(number), number)
    assert (len(held), min(held.values())) == (MOST_KEPT, 2)


def test_a_denial_names_what_was_denied() -> None:
    assert denial("rm x", "keep it") == "Denied: rm x: keep it"
    assert denial("", "keep it") == "Denied: keep it"

"""A model on loopback that follows a script, in the four wire formats that the agents speak.

It serves Anthropic's Messages, OpenAI's Responses and chat completions, and Gemini's `generateContent`. What is to be
done next follows from the request alone: the results of the tool calls so far. So a request that is sent again is
answered the same.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple

DELEGATED = "do your part of it"
"""What a subagent is asked, for the model to know it by."""

FEW_TOOLS = 3
"""Requests with fewer tools are about titles and the like; they are no part of the script."""


class Call(NamedTuple):
    """A call of a tool that the model asks for."""

    tool: str  # as the agent calls it; "a|b": whichever is offered
    arguments: Mapping[str, Any] = {}
    text: str = ""  # of a tool that takes a text in place of arguments


Script = Callable[[Sequence[str]], Call | None]
"""The results of the calls so far, in order → the next call; None: the turn is over."""


def steps(*calls: Call | Callable[[], Call]) -> Script:
    """One call after the other. A function does something else first, once."""
    made: dict[int, Call] = {}

    def script(results: Sequence[str]) -> Call | None:
        at = len(results)
        if at >= len(calls):
            return None
        if at not in made:
            one = calls[at]
            made[at] = one if isinstance(one, Call) else one()
        return made[at]

    return script


class Goals:
    """A script that reads once and then makes each edit; what is refused is tried again after another read.

    `begin` is called before the first edit; `took_s` is how long all edits took from then on. Before each edit the
    model thinks for a while.
    """

    def __init__(self, read: Call, edits: Sequence[Call], begin: Callable[[], object], think_s: float) -> None:
        self._read, self._edits, self._begin, self._think_s = read, edits, begin, think_s
        self._begun = 0.0
        self.took_s = 0.0

    def __call__(self, results: Sequence[str]) -> Call | None:
        left = [self._read, *self._edits]
        for result in results:
            done = left.pop(0)
            if REFUSED.search(result):
                left = [self._read, done, *left]
        if not self._begun and results:
            self._begin()
            self._begun = time.monotonic()
        if not left or len(results) > MOST_CALLS:
            self.took_s = self.took_s or time.monotonic() - self._begun
            return None
        if left[0] is not self._read:
            time.sleep(self._think_s)
        return left[0]


REFUSED = re.compile(r"Nothing was written\.|modified since|verification failed|Failed to find|not found in file")
"""What an agent's own tools, or the hooks around them, answer where nothing was written."""

MOST_CALLS = 60


class Model:
    """The server. `results` has what the agent was answered by its tools, as its last request tells; `calls_s` how long
    it took for each call, from the answer of the model to the next question; `told` is all that it was told last.

    `subagent` is the script of a conversation that begins with the text `DELEGATED`.
    """

    def __init__(self, script: Script, subagent: Script | None = None) -> None:
        self.script = script
        self.subagent = subagent
        self.results: list[str] = []
        self.told = ""
        self.calls_s: list[float] = []
        self._answered = 0.0
        self.faults: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"model": self}))
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="model")

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def next(self, results: Sequence[str], offered: int, messages: Sequence[Mapping[str, Any]]) -> Call | None:
        """The next call of a conversation, which has had these results."""
        if offered < FEW_TOOLS:
            return None
        asked = next((flat(m.get("content", m.get("parts"))) for m in messages if m.get("role") == "user"), "")
        if self.subagent is not None and DELEGATED in asked:
            return self.subagent(results)
        self.told = flat([message.get("content", message.get("parts", "")) for message in messages])
        if len(results) > len(self.results):
            self.results = [*results]
            self.calls_s.append(time.monotonic() - self._answered)
        call = self.script(results)
        self._answered = time.monotonic()
        return call

    def __enter__(self) -> Model:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        assert not self.faults, self.faults


def flat(content: Any) -> str:
    """The text in a result, in whichever way it is wrapped."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(flat, content))
    if isinstance(content, dict):
        known = (flat(content[key]) for key in ("text", "content", "output", "error") if key in content)
        return next(known, str(content))
    return str(content)


class _Handler(BaseHTTPRequestHandler):
    model: ClassVar[Model]
    timeout = 10  # of a connection on which nothing is asked

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = self._body()
        answer = next((form for ending, form in _FORMS.items() if path.endswith(ending)), None)
        if answer is None:
            self._json({"input_tokens": 10, "totalTokens": 10})
            return
        try:
            events = answer(self.model, body)
        except Exception as fault:
            self.model.faults.append(f"{path}: {type(fault).__name__}: {fault}")
            raise
        if body.get("stream") or "stream" in path:
            self._send("".join(events.lines()).encode(), "text/event-stream")
        else:
            self._json(events.whole)

    def _body(self) -> dict[str, Any]:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b"".join(self._chunks())
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        with contextlib.suppress(ValueError):
            return dict(json.loads(data))
        return {}

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _json(self, value: object) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        for name, value in (("content-type", kind), ("content-length", str(len(data))), ("connection", "close")):
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(data)


class _Answer(NamedTuple):
    """An answer, as a whole and as events of a stream."""

    whole: dict[str, Any]
    stream: Sequence[dict[str, Any]]
    done: bool = False  # the stream ends with a line that says so

    def lines(self) -> Iterator[str]:
        """The stream, as server-sent events."""
        for event in self.stream:
            yield f"event: {event['type']}\n" if "type" in event else ""
            yield f"data: {json.dumps(event)}\n\n"
        yield "data: [DONE]\n\n" if self.done else ""


def _chosen(call: Call, offered: Sequence[str]) -> str:
    names = call.tool.split("|")
    return next((name for name in names if name in offered), names[0])


# ── Anthropic's Messages ─────────────────────────────────────────────────────


def _messages(model: Model, body: Mapping[str, Any]) -> _Answer:
    offered = [tool.get("name", "") for tool in body.get("tools") or ()]
    contents = [message["content"] for message in body.get("messages", ()) if message["role"] == "user"]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    results = [flat(part.get("content", "")) for part in parts if part["type"] == "tool_result"]
    call = model.next(results, len(offered), body.get("messages", ()))
    block: dict[str, Any] = {"type": "text", "text": "done"}
    if call is not None:
        used = {"id": f"toolu_{len(results):04d}", "name": _chosen(call, offered), "input": dict(call.arguments)}
        block = {"type": "tool_use", **used}
    reason = "end_turn" if call is None else "tool_use"
    usage = {"input_tokens": 10, "output_tokens": 10}
    head: dict[str, Any] = {"id": f"msg_{len(results)}", "type": "message", "role": "assistant"}
    head |= {"model": body.get("model"), "usage": usage}
    empty = {**block, "input": {}} if call is not None else {**block, "text": ""}
    part = {"type": "text_delta", "text": "done"}
    if call is not None:
        part = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    stream: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**head, "content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": part},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return _Answer({**head, "content": [block], "stop_reason": reason, "stop_sequence": None}, stream)


# ── OpenAI's Responses ───────────────────────────────────────────────────────


def _responses(model: Model, body: Mapping[str, Any]) -> _Answer:
    offered = {tool.get("name") or tool["type"]: tool["type"] for tool in body.get("tools") or ()}
    items = [item for item in body.get("input") or () if isinstance(item, dict)]
    results = [flat(item.get("output", "")) for item in items if str(item.get("type")).endswith("_call_output")]
    call = model.next(results, len(offered), items)
    said = {"type": "output_text", "text": "done"}
    item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [said]}
    if call is not None:
        name = _chosen(call, [*offered])
        item = {"call_id": f"call_{len(results):04d}", "name": name, "type": "function_call"}
        server, dot, tool = name.rpartition(".")
        if dot:  # of a server of MCP
            item |= {"namespace": server, "name": tool}
        if offered.get(name) == "custom":
            item |= {"type": "custom_tool_call", "input": call.text}
        else:
            item |= {"arguments": json.dumps(dict(call.arguments))}
    item |= {"id": f"item_{len(results)}", "status": "completed"}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20, **details}
    head = {"id": f"resp_{len(results)}", "object": "response", "model": body.get("model")}
    whole = {**head, "status": "completed", "output": [item], "usage": usage}
    stream: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return _Answer(whole, [{**event, "sequence_number": n} for n, event in enumerate(stream)])


# ── chat completions ─────────────────────────────────────────────────────────


def _completions(model: Model, body: Mapping[str, Any]) -> _Answer:
    offered = [tool.get("function", {}).get("name", "") for tool in body.get("tools") or ()]
    results = [flat(message.get("content", "")) for message in body.get("messages", ()) if message["role"] == "tool"]
    call = model.next(results, len(offered), body.get("messages", ()))
    said: dict[str, Any] = {"role": "assistant", "content": "done"}
    if call is not None:
        asked = {"name": _chosen(call, offered), "arguments": json.dumps(dict(call.arguments))}
        asked_once = {"index": 0, "id": f"call_{len(results):04d}", "type": "function", "function": asked}
        said = {"role": "assistant", "content": None, "tool_calls": [asked_once]}
    reason = "stop" if call is None else "tool_calls"
    head = {"id": f"chatcmpl-{len(results)}", "created": 1, "model": body.get("model")}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    choices = [{"index": 0, "delta": said, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": reason}]
    stream = [{**head, "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
    stream[-1]["usage"] = usage
    ended = {"index": 0, "message": said, "finish_reason": reason}
    return _Answer({**head, "object": "chat.completion", "choices": [ended], "usage": usage}, stream, done=True)


# ── Gemini ───────────────────────────────────────────────────────────────────


def _gemini(model: Model, body: Mapping[str, Any]) -> _Answer:
    groups = [tool.get("functionDeclarations") or [] for tool in body.get("tools") or ()]
    offered = [function["name"] for group in groups for function in group]
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    results = [flat(part["functionResponse"].get("response")) for part in parts if "functionResponse" in part]
    call = model.next(results, len(offered), body.get("contents", ()))
    said: dict[str, Any] = {"text": "done"}
    if call is not None:
        asked = {"name": _chosen(call, offered), "args": dict(call.arguments), "id": f"call_{len(results)}"}
        said = {"functionCall": asked}
    elif "responseJsonSchema" in (body.get("generationConfig") or {}):  # which model it should be, and who speaks next
        said = {"text": json.dumps({"reasoning": "", "model_choice": "pro", "next_speaker": "user"})}
    whole = {
        "candidates": [{"content": {"role": "model", "parts": [said]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
    }
    return _Answer(whole, [whole])


_FORMS: Mapping[str, Callable[[Model, Mapping[str, Any]], _Answer]] = {
    "/v1/messages": _messages,
    "/responses": _responses,
    "/chat/completions": _completions,
    "GenerateContent": _gemini,
    "generateContent": _gemini,
}

"""The plugin that `quire setup opencode` writes: what it asks, and what it does with the answers."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from quire_client.setup import agents
from quire_client.setup.agents import Scope

PLAYED = """
const args = { filePath: "/work/app/a.py" }
const of = (sessionID) => async (plugin, tool, callID) => {
  try { await plugin["tool.execute.before"]({ tool, sessionID, callID }, { args }) } catch (e) { return e.message }
  const output = { output: "done" }
  await plugin["tool.execute.after"]({ tool, sessionID, callID, args }, output)
  return output.output
}
const failed = (sessionID, callID) =>
  ({ event: { type: "message.part.updated", properties: { part: {
    type: "tool", tool: "edit", callID, sessionID, state: { status: "error", error: "not found" } } } } })
for (const folder of process.argv.slice(2)) {
  const { Quire } = await import(folder + "/quire.mjs")
  const plugin = await Quire({ directory: "/work/app" })
  await plugin.event({ event: { type: "session.created", properties: { info: { id: "s1" } } } })
  await plugin.event({ event: { type: "session.created", properties: { info: { id: "s2", parentID: "s1" } } } })
  const said = {}
  for (const sessionID of ["s1", "s2"]) {
    const parts = [{ type: "text", text: "do it", id: "prt_1", messageID: "m1", sessionID }]
    const model = { providerID: "p", modelID: "m" }
    await plugin["chat.message"]({ sessionID }, { message: { id: "m1", model }, parts })
    const system = []
    await plugin["experimental.chat.system.transform"]({ sessionID }, { system })
    said[sessionID] = { system, parts: parts.map((part) => [part.id, part.text, part.synthetic ?? false]) }
  }
  const shown = [await of("s1")(plugin, "edit", "c1"), await of("s1")(plugin, "quire_edit", "c2")]
  shown.push(await of("s1")(plugin, "read", "c3"))
  try { await plugin["tool.execute.before"]({ tool: "edit", sessionID: "s2", callID: "c4" }, { args }) } catch {}
  await plugin.event(failed("s2", "c4"))
  await plugin.event(failed("s2", "c4"))
  await plugin.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
  await plugin.event({ event: { type: "session.idle", properties: { sessionID: "unheard" } } })
  await plugin.dispose()
  console.log(JSON.stringify({ ...said.s1, shown }))
}
"""


"""An agent that has the plugin from each of some folders in turn, and tells what it came to see of each answer."""


LINES = """
while read -r row; do echo "$row" >> {folder}/asked; echo '{answer}'; done; echo end >> {folder}/processes
"""


ALONE = """
[ "$3" != --stdio ] || exit 0
cat >> {folder}/asked; echo >> {folder}/asked; echo end >> {folder}/processes; echo '{answer}'
"""


PLAYS = {
    LINES: {
        '{"decision": "deny", "reason": "read again", "context": "news"}': ["read again", "done", "done\n\nnews"],
        '{"context": "news"}': ["done\n\nnews", "done", "done\n\nnews"],
        "no json": ["done", "done", "done"],
    },
    ALONE: {'{"context": "news"}': ["done\n\nnews", "done", "done\n\nnews"], "no json": ["done", "done", "done"]},
}


CASES = [(script, answer, shown) for script, answers in PLAYS.items() for answer, shown in answers.items()]


@pytest.mark.skipif(shutil.which("node") is None, reason="the plugin runs in JavaScript")
def test_the_plugin_of_opencode_asks_and_does_as_it_is_told(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number, _ in enumerate(CASES)]
    for folder, (script, answer, _) in zip(folders, CASES, strict=True):
        folder.mkdir()
        quire = folder / "quire"
        quire.write_text("#!/bin/sh" + script.format(folder=folder, answer=answer))
        quire.chmod(0o755)
        (plugin, _) = agents.files("opencode", Scope(tmp_path / "home", {}, tmp_path / "site"), str(quire))
        (folder / "quire.mjs").write_text(plugin.put(None))
    (tmp_path / "play.mjs").write_text(PLAYED)
    ran = subprocess.run(["node", tmp_path / "play.mjs", *folders], capture_output=True, text=True, timeout=50)
    plays = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [play["shown"] for play in plays] == [shown for _, _, shown in CASES], ran.stderr
    for folder, (script, answer, _), play in zip(folders, CASES, plays, strict=True):
        heard = ["news"] if "news" in answer else []
        assert play["system"] == heard
        assert play["parts"] == [["prt_1", "do it", False], *(["prt_1q", text, True] for text in heard)]
        asked = [json.loads(line) for line in (folder / "asked").read_text().splitlines()]
        denied = "deny" in answer
        assert [(one["event"], one["sessionID"], one.get("callID")) for one in asked] == [
            ("session.created", "s1", None),
            ("chat.message", "s1", None),
            ("session.created", "s2", None),
            ("chat.message", "s2", None),
            ("tool.execute.before", "s1", "c1"),
            *([] if denied else [("tool.execute.after", "s1", "c1")]),
            ("tool.execute.after", "s1", "c3"),
            ("tool.execute.before", "s2", "c4"),
            *([] if denied else [("tool.execute.after", "s2", "c4")]),
            ("session.idle", "s1", None),
        ], "no process for a tool of Quire's own, and none for a call that was denied"
        assert all(one["directory"] == "/work/app" for one in asked)
        assert all(one["messageID"] == "m1" for one in asked)
        assert {one["sessionID"]: one.get("parentID") for one in asked} == {"s1": None, "s2": "s1"}
        assert [one["prompt"] for one in asked if one["event"] == "chat.message"] == ["do it"] * 2
        assert asked[0]["model"] == "p/m"
        assert [one["error"] for one in asked if "error" in one] == ["not found"] * (not denied)
        ended = len((folder / "processes").read_text().splitlines())
        assert ended == (1 if script == LINES else len(asked))

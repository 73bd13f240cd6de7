// Written by `quire setup opencode`; `quire unsetup opencode` removes it.
// Tells Quire's journal what opencode's own tools write, and them what others wrote meanwhile.
import { spawn } from "node:child_process"

const QUIRE = "quire"

function ask(event) {
  return new Promise((resolve) => {
    const child = spawn(QUIRE, ["hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), 10000)
    let said = ""
    const done = () => {
      clearTimeout(timer)
      try { resolve(JSON.parse(said)) } catch { resolve({}) }
    }
    child.on("error", done)
    child.stdin.on("error", () => {})
    child.stdout.on("data", (part) => { said += part })
    child.on("close", done)
    child.stdin.end(JSON.stringify(event))
  })
}

export const Quire = async ({ directory }) => ({
  "chat.message": async (input) => {
    await ask({ event: "chat.message", sessionID: input.sessionID, messageID: input.messageID, directory })
  },
  "tool.execute.before": async (input, output) => {
    const { tool, sessionID, callID } = input
    const answer = await ask({ event: "tool.execute.before", tool, sessionID, callID, args: output.args, directory })
    if (answer.decision === "deny") throw new Error(answer.reason)
  },
  "tool.execute.after": async (input, output) => {
    const { tool, sessionID, callID, args } = input
    const answer = await ask({ event: "tool.execute.after", tool, sessionID, callID, args, directory })
    if (answer.context && typeof output.output === "string") output.output += "\n\n" + answer.context
  },
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    await ask({ event: "session.idle", sessionID: event.properties?.sessionID, directory })
  },
})

// Written by `quire setup opencode`; `quire unsetup opencode` removes it.
// Tells Quire's journal what opencode's own tools write, and them what others wrote meanwhile.
import { spawn } from "node:child_process"

const QUIRE = "quire"
const TOLD = new Set(["bash", "edit", "multiedit", "write", "patch", "apply_patch", "read"])
const PATIENCE_MS = 10000

// One process answers all events, a line each, in their order. Where it ends, each event has a process of its own.
let line = null
let lost = false
const waiting = []

function start() {
  line = spawn(QUIRE, ["hook", "opencode", "--stdio"], { stdio: ["pipe", "pipe", "ignore"] })
  let said = ""
  const end = () => {
    lost = true
    for (const one of waiting.splice(0)) alone(one.event).then(one.answered)
  }
  line.on("error", end)
  line.on("close", end)
  line.stdin.on("error", () => {})
  line.stdout.setEncoding("utf8")
  line.stdout.on("data", (part) => {
    const rows = (said + part).split("\n")
    said = rows.pop()
    for (const row of rows) waiting.shift()?.answered(parsed(row))
  })
  for (const held of [line, line.stdin, line.stdout]) held.unref?.()
}

function ask(event) {
  if (!lost && !line) start()
  if (lost) return alone(event)
  return new Promise((resolve) => {
    const one = { event, answered: (answer) => { clearTimeout(timer); resolve(answer) } }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(one), 1)
      resolve({})
      line.kill()
    }, PATIENCE_MS)
    waiting.push(one)
    line.stdin.write(JSON.stringify(event) + "\n")
  })
}

function alone(event) {
  return new Promise((resolve) => {
    const child = spawn(QUIRE, ["hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), PATIENCE_MS)
    let said = ""
    const done = () => { clearTimeout(timer); resolve(parsed(said)) }
    child.on("error", done)
    child.on("close", done)
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => { said += part })
    child.stdin.end(JSON.stringify(event))
  })
}

function parsed(said) {
  try { return JSON.parse(said) ?? {} } catch { return {} }
}

class Denied extends Error {}

// An agent's work does not stop for our faults.
function calm(hook) {
  return async (...given) => {
    try { await hook(...given) } catch (error) { if (error instanceof Denied) throw error }
  }
}

export const Quire = async ({ directory }) => {
  const parents = {} // session of a subagent → session of its parent
  const greetings = {} // session → what its model is told first
  const turns = {} // session → id of the message that its turn answers
  const open = new Map() // id of a call that was announced → the event that ends it

  const tell = (event, sessionID, more) =>
    ask({ event, sessionID, parentID: parents[sessionID], messageID: turns[sessionID], directory, ...more })

  return {
    "chat.message": calm(async (input, { message, parts }) => {
      const { sessionID } = input
      const texts = (parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      const named = message?.model ?? input.model
      const model = named && `${named.providerID}/${named.modelID}`
      turns[sessionID] = message?.id ?? input.messageID
      if (!(sessionID in greetings)) {
        greetings[sessionID] = (await tell("session.created", sessionID, { model })).context
      }
      const { context } = await tell("chat.message", sessionID, { model, prompt })
      const last = texts.at(-1)
      if (context && last) parts.push({ ...last, id: `${last.id}q`, text: context, synthetic: true })
    }),
    "experimental.chat.system.transform": calm(async ({ sessionID }, { system }) => {
      if (greetings[sessionID]) system.push(greetings[sessionID])
    }),
    "tool.execute.before": calm(async ({ tool, sessionID, callID }, { args }) => {
      if (!TOLD.has(tool)) return
      const answer = tool === "read" ? {} : await tell("tool.execute.before", sessionID, { tool, callID, args })
      if (answer.decision === "deny") throw new Denied(answer.reason)
      open.set(callID, { tool, callID, args })
    }),
    "tool.execute.after": calm(async ({ tool, sessionID, callID, args }, output) => {
      if (!open.delete(callID)) return
      const diff = output?.metadata?.diff
      const { context } = await tell("tool.execute.after", sessionID, { tool, callID, args, diff })
      if (context && typeof output?.output === "string") output.output += `\n\n${context}`
    }),
    event: calm(async ({ event: { type, properties } }) => {
      if (type === "session.created") {
        if (properties.info?.parentID) parents[properties.info.id] = properties.info.parentID
      } else if (type === "message.part.updated") {
        const { callID, sessionID, state } = properties.part
        if (state?.status !== "error" || !open.has(callID)) return
        const call = open.get(callID)
        open.delete(callID)
        await tell("tool.execute.after", sessionID, { ...call, error: String(state.error) })
      } else if (type === "session.idle" || type === "session.deleted") {
        const sessionID = properties.sessionID ?? properties.info?.id
        if (turns[sessionID]) await tell(type, sessionID)
      }
    }),
    dispose: calm(async () => { line?.stdin.end() }),
  }
}

// The code of the thread that reads variables: CommonJS, started from its text, so that it needs no loader and no file.
'use strict'
const { Session } = require('node:inspector')
const { parentPort, workerData: { state, heartbeat, channelName, limits } } = require('node:worker_threads')

const STARTING = 0
const CONNECTED = 1
const ENDED = 2
/** The places in `state`, which is shared with the application's thread. */
const PHASE = 0
const RESTING = 1

/** The places in `heartbeat`: turns of the application's event loop, and whether requests are open. */
const TURNS = 0
const OPEN = 1
/** Milliseconds without a turn from which the loop is blocked, between two looks at it, and until it is idle. */
const BLOCKED = 60
const INTERVAL = 10
const IDLE = 1_000

/** Calls that are passed to the application's thread, at most: it selects those of the application. */
const MAX_CALLS = 10
/** Names of scripts that are kept, at most. */
const MAX_SCRIPTS = 50_000
/** Scopes that are no variables of a function, or have too many. */
const LEFT_OUT = new Set(['global', 'script', 'with', 'wasm-expression-stack'])

const session = new Session()
/** The names of scripts that are neither of Node.js nor of a package. */
const scripts = new Map()
let inspector
let isOn = false
let second = 0
/** Errors of which variables were read in this second. */
let reads = 0
/** Milliseconds of pauses that are left: they grow with time. */
let allowance = limits.burst
let counted = performance.now()
let turns = 0
let turnedAt = 0
let openAt = 0
/** Whether it has asked for the call that blocks the loop. */
let hasAsked = false

function post (method, parameters) {
  return new Promise((resolve) => session.post(method, parameters, (error, result) => resolve(error ?? result)))
}

function setPhase (phase) {
  Atomics.store(state, PHASE, phase)
  Atomics.notify(state, PHASE)
}

session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => {
  if (url === '' || url.startsWith('node:')) return
  // Calls of Hindsight above those of the application have thrown the error, or block the loop.
  if (/[\\/]node_modules[\\/]/.test(url) && !/[\\/]fastify-hindsight[\\/]dist[\\/]/.test(url)) return
  if (scripts.size >= MAX_SCRIPTS) scripts.clear()
  scripts.set(scriptId, url)
})

session.on('Debugger.paused', async ({ params: { callFrames, data } }) => {
  const began = performance.now()
  const paused = { value: Number(process.hrtime.bigint()) }
  const calls = callFrames.filter(({ location }) => scripts.has(location.scriptId)).slice(0, MAX_CALLS)
  const described = { value: calls.map(describeCall) }
  let answer
  if (data !== undefined && calls.length > 0) {
    answer = call('inspect', [valueOf(data), paused, described, ...calls.flatMap(variablesOf)])
  } else if (hasAsked && calls.length > 0 && Atomics.load(heartbeat, TURNS) === turns) call('block', [described])
  await post('Debugger.resume')
  if ((await answer)?.result?.value === true) reads++
  count(performance.now() - began)
})

/** Calls a function of the application's thread. It continues before the reply arrives here. */
async function call (name, given) {
  return await post('Runtime.callFunctionOn', {
    objectId: inspector,
    functionDeclaration: `function (...given) { return this.${name}(...given) }`,
    arguments: given,
    silent: true,
    returnByValue: true
  })
}

function describeCall ({ functionName, location, scopeChain }) {
  return {
    url: scripts.get(location.scriptId),
    line: location.lineNumber,
    column: location.columnNumber ?? 0,
    function: functionName,
    scopes: scopeChain.filter(isRead).map(({ type }) => type)
  }
}

function variablesOf ({ this: receiver, scopeChain }) {
  return [receiver, ...scopeChain.filter(isRead).map(({ object }) => object)].map(valueOf)
}

function isRead ({ type }) {
  return !LEFT_OUT.has(type)
}

function valueOf ({ objectId, value, unserializableValue }) {
  if (objectId !== undefined) return { objectId }
  if (unserializableValue !== undefined) return { unserializableValue }
  return { value }
}

/** Counts the time of a pause, and pauses no more for a while where there were too many. */
function count (duration) {
  const now = performance.now()
  allowance = Math.min(limits.burst, allowance + (now - counted) * limits.share) - duration
  counted = now
  if (now - second >= 1_000) {
    second = now
    reads = 0
  }
  if (reads < limits.reads && allowance > 0) return
  const time = Math.max(second + 1_000 - now, -allowance / limits.share)
  setPausing(false)
  setTimeout(() => setPausing(true), time).unref()
}

function setPausing (isPausing) {
  if (!isOn) return
  Atomics.store(state, RESTING, isPausing ? 0 : 1)
  post('Debugger.setPauseOnExceptions', { state: isPausing ? 'all' : 'none' })
}

/** Asks which call blocks the event loop, once for each block. */
function watchLoop () {
  const now = performance.now()
  const turned = Atomics.load(heartbeat, TURNS)
  const isOpen = Atomics.load(heartbeat, OPEN) === 1
  if (isOpen) openAt = now
  if (turned !== turns || !isOpen) {
    turns = turned
    turnedAt = now
    hasAsked = false
  } else if (!hasAsked && now - turnedAt >= BLOCKED && allowance > 0) {
    hasAsked = true
    post('Debugger.pause')
  }
  if (now - openAt < IDLE) return setTimeout(watchLoop, INTERVAL).unref()
  // An idle application wakes no thread.
  const { async: isWaiting, value } = Atomics.waitAsync(heartbeat, OPEN, 0)
  if (isWaiting) value.then(watchLoop)
  else setTimeout(watchLoop, INTERVAL).unref()
}

function stop () {
  isOn = false
  session.disconnect()
  setPhase(ENDED)
  process.exit()
}

async function start () {
  // The process may have begun to exit meanwhile.
  if (Atomics.load(state, PHASE) !== STARTING) return process.exit()
  session.connectToMainThread()
  setPhase(CONNECTED)
  const expression = `(() => {
    const given = {}
    process.getBuiltinModule('node:diagnostics_channel').channel('${channelName}').publish(given)
    return given.inspector
  })()`
  inspector = (await post('Runtime.evaluate', { expression, silent: true })).result?.objectId
  if (inspector === undefined) return stop()
  // Otherwise the text of each script is kept that is no longer in use.
  await post('Debugger.enable', { maxScriptsCacheSize: 0 })
  isOn = true
  setPausing(true)
  await post('Runtime.evaluate', { expression: '0', silent: true })
  parentPort.postMessage('ready')
  watchLoop()
}

parentPort.on('message', stop)
start()

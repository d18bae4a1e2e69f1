// The code of the thread that reads variables: CommonJS, started from its text, so that it needs no loader and no file.
'use strict'
const { Session } = require('node:inspector')
const { parentPort, workerData: { state, heartbeat, channelName, limits } } = require('node:worker_threads')

const STARTING = 0
const CONNECTED = 1
const ENDED = 2
/** The places in `state`, which is shared with the application's thread. */
const PHASE = 0
const RESTS = 1

/** The places in `heartbeat`: turns of the application's event loop, and whether requests are open. */
const TURNS = 0
const OPEN = 1
/** Milliseconds without a turn or a pause until it asks which call runs, between two looks, and until it is idle. */
const BLOCKED = 60
const INTERVAL = 10
const IDLE = 1_000

/** Milliseconds in which V8 describes a call of the stack before this thread is notified of a pause. */
const CALL_TIME = 0.1
/** Calls that are passed to the application's thread, at most: it selects those of the application. */
const MAX_CALLS = 10
/** Names of scripts that are kept, at most. */
const MAX_SCRIPTS = 50_000
/** Characters of a stack that are searched for a call of the application. */
const MAX_STACK = 10_000
const FRAME = /^ +at /
/** The function of Node.js that is called where a promise is rejected that nothing awaits yet. */
const REJECTED = 'promiseRejectHandler'
/** Steps in hooks of Node.js that are called before the code that awaits a promise. */
const MAX_STEPS = 20
/** Functions that only one of two requests ran, at most. */
const MAX_FUNCTIONS = 100
const PACKAGE = /[\\/]node_modules[\\/]/
/** Scopes that are no variables of a function, or have too many. */
const LEFT_OUT = new Set(['global', 'script', 'with', 'wasm-expression-stack'])

const session = new Session()
/** Characters of a script whose text is read for a source map in it. */
const MAX_SCRIPT = 2_000_000

/** The scripts that are neither of Node.js nor of a package: `hasMap`: the source map in the text is not read yet. */
const scripts = new Map()
/** The scripts of Node.js. */
const internals = new Set()
/** The pause of an error that the application may catch: the next one is where it is caught. */
let thrown
let inspector
let isOn = false
let second = 0
/** Errors of which variables were read in this second. */
let reads = 0
/** Milliseconds of pauses that are left: they grow with time. */
let allowance = limits.burst
let counted = performance.now()
/** The timer that ends a rest. */
let restTimer
/** How often V8 was told to pause, or not to. */
let changes = 0
let turns = 0
let turnedAt = 0
let openAt = 0
/** Milliseconds until it asks which call blocks the loop. It doubles: the last answer is from a block's second half. */
let askAfter = BLOCKED
/** Steps from there in hooks of Node.js. */
let blockSteps = 0
/** Whether it records which functions run, and those of the first of two requests. */
let isCovering = false
let covered = []

function post (method, parameters) {
  return new Promise((resolve) => session.post(method, parameters, (error, result) => resolve(error ?? result)))
}

function setPhase (phase) {
  Atomics.store(state, PHASE, phase)
  Atomics.notify(state, PHASE)
}

session.on('Debugger.scriptParsed', ({ params: { scriptId, url, sourceMapURL = '', length } }) => {
  if (url.startsWith('node:')) internals.add(scriptId)
  if (url === '' || url.startsWith('node:')) return
  // Calls of Hindsight above those of the application have thrown the error, or block the loop.
  if (PACKAGE.test(url) && !/[\\/]fastify-hindsight[\\/]dist[\\/]/.test(url)) return
  if (scripts.size >= MAX_SCRIPTS) scripts.clear()
  scripts.set(scriptId, { url, hasMap: sourceMapURL.startsWith('data:') && length <= MAX_SCRIPT })
})

session.on('Debugger.paused', async ({ params: { callFrames, reason, data } }) => {
  const began = performance.now()
  const at = Number(process.hrtime.bigint())
  const calls = callFrames.filter(isKnown).slice(0, MAX_CALLS)
  await passMaps(calls)
  const earlier = thrown
  thrown = undefined
  let answer
  const hasAsked = askAfter > BLOCKED
  const isOfOther = data === undefined && earlier === undefined && !hasAsked
  // A breakpoint of a debugger that was attached meanwhile, which continues the application.
  if (isOfOther && (await call('isDebugged', []))?.result?.value === true) {
    isOn = false
    // V8 continues where no other debugger is attached. To disconnect in a pause ends the process.
    return await post('Debugger.disable')
  }
  const isNext = data === undefined && earlier?.isAsync === false
  const pause = { value: { at, calls: callFrames.length, isNext } }
  if (data !== undefined) answer = inspect(pause, callFrames, calls, data, reason === 'promiseRejection')
  else if (earlier !== undefined && isInHook(callFrames[0]) && earlier.steps++ < MAX_STEPS && earlier.isAsync) {
    thrown = earlier
  } else if (earlier !== undefined) {
    answer = call('settle', [pause, { value: catchingCalls(earlier, callFrames).filter(isKnown).map(describeCall) }])
  } else if (hasAsked && calls.length > 0 && Atomics.load(heartbeat, TURNS) === turns) {
    answer = call('block', [pause, { value: calls.map(describeCall) }])
  }
  answer ??= call('pass', [pause])
  const isBeforeCall = data === undefined && earlier === undefined && calls.length === 0 && isInHook(callFrames[0])
  if (isBeforeCall && hasAsked && blockSteps++ < MAX_STEPS) await post('Debugger.stepOver')
  else await post(nextStep(thrown))
  if ((await answer).result?.value === true) reads++
  // Until the pause no time of the application is certain.
  if (data !== undefined || earlier !== undefined) turnedAt = performance.now()
  count(performance.now() - began + callFrames.length * CALL_TIME)
})

/** Passes the source maps on that are in the text of scripts: a loader has compiled them, and no file has the map. */
async function passMaps (calls) {
  for (const { location: { scriptId } } of calls) {
    const script = scripts.get(scriptId)
    if (!script.hasMap) continue
    script.hasMap = false
    const { scriptSource = '' } = await post('Debugger.getScriptSource', { scriptId })
    const [, comment = ''] = /^[^]*sourceMappingURL=(data:\S+)/.exec(scriptSource) ?? []
    await call('keepMap', [{ value: script.url }, { value: comment }])
  }
}

function nextStep ({ steps } = {}) {
  if (steps === undefined) return 'Debugger.resume'
  return steps === 0 ? 'Debugger.stepInto' : 'Debugger.stepOver'
}

function isInHook ({ functionName, location }) {
  return internals.has(location.scriptId) && functionName !== REJECTED
}

/** Reads the variables of an error that is being thrown. */
function inspect (pause, callFrames, calls, data, isAsync) {
  const stack = calls.length === 0 ? awaitedStack(data) : ''
  if (calls.length === 0 && stack === '') return undefined
  const inner = callFrames.slice(0, callFrames.findIndex(isKnown))
  const isOfPackage = stack === '' ? inner.some(isOfAnyPackage) : PACKAGE.test(stack)
  // A promise that a function of the application rejects, or one of Node.js that the application has called.
  const isCaught = isAsync && !isOfPackage
  if (!isCaught) thrown = { callFrames, isAsync, steps: 0 }
  const details = [calls.map(describeCall), { isCaught, stack }].map((value) => ({ value }))
  return call('inspect', [pause, valueOf(data), ...details, ...calls.flatMap(variablesOf)])
}

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

function isKnown ({ location }) {
  return scripts.has(location.scriptId)
}

function isOfAnyPackage (frame) {
  return !internals.has(frame.location.scriptId) && !isKnown(frame)
}

/** The stack of a rejection until the call that awaits it, where that may be one of the application; else empty. */
function awaitedStack ({ description = '' }) {
  const lines = description.slice(0, MAX_STACK).split('\n')
  const first = lines.findIndex((line) => FRAME.test(line))
  const end = lines.findIndex((line) => /^ +at async /.test(line) && !/[( ]node:/.test(line) && !PACKAGE.test(line))
  return end === -1 ? '' : lines.slice(first, end + 1).join('\n')
}

/**
 * The calls of which one catches an error that was thrown at an earlier pause: V8 has stepped into the function with
 * its `catch`, or the one that awaits the promise, or into Node.js where a promise was rejected that is awaited later,
 * by its function or the caller of that.
 */
function catchingCalls ({ callFrames, isAsync }, [first, ...others]) {
  const isRejected = isAsync && first.functionName === REJECTED
  const [inner, outer] = isRejected ? others : [first]
  if (inner === undefined) return []
  const depth = isRejected ? others.length : others.length + 1
  const before = callFrames.at(-depth)
  const isSame = before !== undefined && idOf(before) === idOf(inner)
  if (isRejected) return isSame ? [inner, outer].filter(Boolean) : []
  return isSame || isAsync ? [inner] : []
}

function idOf ({ functionLocation }) {
  return JSON.stringify(functionLocation)
}

function describeCall ({ functionName, location, scopeChain }) {
  return {
    url: scripts.get(location.scriptId).url,
    line: location.lineNumber,
    column: location.columnNumber ?? 0,
    function: functionName,
    scopes: scopeChain.filter(isRead).map(({ type }) => type),
    range: rangeOf(scopeChain.find(({ type }) => type === 'local'))
  }
}

function rangeOf ({ startLocation, endLocation } = {}) {
  if (startLocation === undefined || endLocation === undefined) return undefined
  const ends = [startLocation, endLocation]
  return ends.map(({ lineNumber: line, columnNumber: column }) => ({ line, column }))
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

/** Lets the allowance grow with time. */
function refill (now) {
  allowance = Math.min(limits.burst, allowance + (now - counted) * limits.share)
  counted = now
}

/** Counts the time of a pause, and pauses no more for a while where there were too many. */
function count (duration) {
  const now = performance.now()
  refill(now)
  allowance -= duration
  if (now - second >= 1_000) {
    second = now
    reads = 0
  }
  if (reads < limits.reads && allowance > 0) return
  const untilNextSecond = reads < limits.reads ? 0 : second + 1_000 - now
  const time = Math.max(untilNextSecond, -allowance / limits.share)
  setPausing(false)
  clearTimeout(restTimer)
  restTimer = setTimeout(() => setPausing(true), time).unref()
}

/** Begins or ends a rest. V8 pauses again when the application's thread has read the message: then the rest ends. */
async function setPausing (isPausing) {
  if (!isOn || isCovering) return
  const change = ++changes
  if (!isPausing) setResting(true)
  await post('Debugger.setPauseOnExceptions', { state: isPausing ? 'all' : 'none' })
  // The next rest may have begun meanwhile.
  if (isPausing && change === changes) setResting(false)
}

function setResting (isResting) {
  if (Atomics.load(state, RESTS) % 2 !== Number(isResting)) Atomics.add(state, RESTS, 1)
}

/** Asks which call blocks the event loop. */
function watchLoop () {
  const now = performance.now()
  refill(now)
  const turned = Atomics.load(heartbeat, TURNS)
  const isOpen = Atomics.load(heartbeat, OPEN) === 1
  if (isOpen) openAt = now
  if (turned !== turns || !isOpen) {
    turns = turned
    turnedAt = now
    askAfter = BLOCKED
  } else if (now - turnedAt >= askAfter && allowance > 0) {
    askAfter *= 2
    blockSteps = 0
    post('Debugger.pause')
  }
  if (now - openAt < IDLE) return setTimeout(watchLoop, INTERVAL).unref()
  // An idle application wakes no thread.
  const { async: isWaiting, value } = Atomics.waitAsync(heartbeat, OPEN, 0)
  if (isWaiting) value.then(watchLoop)
  else setTimeout(watchLoop, INTERVAL).unref()
}

/** A step of the comparison of the functions that two requests run: it begins, the first has ended, both have ended. */
async function cover (step) {
  if (step === 'begin') {
    setPausing(false)
    isCovering = true
    await post('Profiler.enable')
    await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  }
  const { result = [] } = await post('Profiler.takePreciseCoverage')
  if (step !== 'end') {
    covered = result
    return []
  }
  await post('Profiler.stopPreciseCoverage')
  await post('Profiler.disable')
  isCovering = false
  setPausing(true)
  return await functionsOfOne(covered, result)
}

/** The functions that only the first and only the second request ran: V8 counts no blocks of older functions. */
async function functionsOfOne (...runs) {
  const [before, after] = runs.map((run) => new Map(run.flatMap(calledFunctions)))
  const only = [[before, after], [after, before]].map(([run, other]) =>
    [...run].filter(([key]) => !other.has(key)).map(([, called]) => called).slice(0, MAX_FUNCTIONS))
  return await Promise.all(only.map(async (run) => await Promise.all(run.map(describeFunction))))
}

function calledFunctions ({ scriptId, functions }) {
  if (!scripts.has(scriptId)) return []
  return functions.filter(({ ranges: [{ count }] }) => count > 0).map(({ functionName, ranges: [range] }) =>
    [`${scriptId}:${range.startOffset}`, { scriptId, name: functionName, ...range }])
}

async function describeFunction ({ scriptId, name, startOffset, endOffset }) {
  const { scriptSource = '' } = await post('Debugger.getScriptSource', { scriptId })
  const [first, last] = [startOffset, endOffset].map((offset) => {
    const before = scriptSource.slice(0, offset).split('\n')
    return { line: before.length - 1, column: before.at(-1).length }
  })
  return { url: scripts.get(scriptId)?.url, name, first, last }
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
  await Promise.all([post('Debugger.enable', { maxScriptsCacheSize: 0 }), call('started', [])])
  isOn = true
  setPausing(true)
  await post('Runtime.evaluate', { expression: '0', silent: true })
  parentPort.postMessage('ready')
  watchLoop()
}

parentPort.on('message', async (message) => {
  if (message === 'stop') stop()
  else parentPort.postMessage(await cover(message))
})
start()

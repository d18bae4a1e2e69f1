import { createHook } from 'node:async_hooks'
import { performance } from '../../clock.js'
import { appSource } from '../../errors/stack-frame.js'
import { directFrames, framesHere } from '../../queries/stack.js'
import type { Recording, Slot } from '../../recording/recording.js'
import { currentContext } from '../../recording/trace.js'
import type { Work, WorkKind } from '../../recording/work-log.js'

const kind = (one: string, many = `${one}s`): WorkKind => ({ one, many, rank: 1 })
const LOOKUP = kind('DNS lookup')
const FILE = kind('file operation')
const WORKER = kind('worker thread')
const HASH = kind('hash', 'hashes')
const KEY = kind('generated key')

/** What a request may wait for, by the types of asynchronous resources. */
const KINDS = new Map([
  ['Timeout', kind('timer')],
  ['GETADDRINFOREQWRAP', LOOKUP],
  ['GETNAMEINFOREQWRAP', LOOKUP],
  ['QUERYWRAP', LOOKUP],
  ['FSREQPROMISE', FILE],
  ['FSREQCALLBACK', FILE],
  ['PROCESSWRAP', kind('child process', 'child processes')],
  ['ZLIB', kind('zlib stream')],
  ['SCRYPTREQUEST', kind('scrypt')],
  ['PBKDF2REQUEST', kind('pbkdf2')],
  ['bcrypt:EncryptAsyncWorker', kind('bcrypt')],
  ['bcrypt:CompareAsyncWorker', kind('bcrypt')],
  ['HASHREQUEST', HASH],
  ['RANDOMBYTESREQUEST', kind('random bytes', 'random bytes')],
  ['KEYPAIRGENREQUEST', KEY],
  ['KEYGENREQUEST', KEY],
  ['SIGNREQUEST', kind('signature')],
  ['CIPHERREQUEST', kind('cipher')],
  ['napi_rs_async', kind('task of a native module', 'tasks of a native module')],
  ['WORKER', WORKER],
  // Only those of a worker, which has several: it is awaited until its last message, or its exit.
  ['MESSAGEPORT', WORKER],
  ['TCPCONNECTWRAP', kind('TCP connection')],
  ['PIPECONNECTWRAP', kind('socket connection')],
  // Until the last data that it has received.
  ['TCPWRAP', kind('socket')]
])

/** Those that Node.js and packages have for themselves, too, and for which nothing waits. */
const ONLY_OF_APP = new Set(['Timeout', 'RANDOMBYTESREQUEST', 'WORKER', 'MESSAGEPORT'])

/** Of a request; and those of a kind whose lines are searched, as a file may be read in hundreds of operations. */
const MAX_WAITS = 1_500
const MAX_LINES = 20

interface Resource { hasRef?: () => boolean }

interface Wait { work: Work, sample: () => void, resource: Resource }

/**
 * The waits of a request by their asynchronous ids, the frames that the last ones of each kind had, and the worker that
 * was made last.
 */
interface Waits {
  ids: number[]
  frames: Map<WorkKind, { count: number, last: string }>
  worker?: { work: Work, frames: string }
}

const requestWaits: Slot<Waits> = { name: 'waits', data: () => undefined }
const waits = new Map<number, Wait>()
const users = new Set<object>()

// Promises are by far the most resources, and none of these. The types do not have the option yet.
const options = { trackPromises: false, init: beginWait, before: endWait }
const hook = createHook(options)

/** Begins or ends to record for an application what its requests wait for: it costs about 1 µs for each request. */
export function watchResources (user: object, isOn: boolean): void {
  if (isOn) users.add(user)
  else users.delete(user)
  if (users.size > 0) hook.enable()
  else hook.disable()
}

// An exception in one of these functions would end the process.
function beginWait (id: number, type: string, _triggerId: number, resource: Resource): void {
  const kind = KINDS.get(type)
  if (kind === undefined) return
  // Nothing waits for an unreferenced timer, as Node.js has for each socket.
  if (type === 'Timeout' && resource.hasRef?.() === false) return
  const recording = currentContext()?.trace?.recording
  if (recording?.work === undefined || recording.isOver || recording.internalSince !== null) return
  const known: Waits = recording.get(requestWaits) ?? { ids: [], frames: new Map() }
  recording.set(requestWaits, known)
  if (known.ids.length >= MAX_WAITS) return
  const isPort = type === 'MESSAGEPORT'
  if (isPort && known.worker === undefined) return
  const { count, last } = known.frames.get(kind) ?? { count: 0, last: '' }
  const isOnlyOfApp = ONLY_OF_APP.has(type)
  const stackOf = isOnlyOfApp ? directFrames : framesHere
  const frames = count < MAX_LINES ? stackOf(beginWait) ?? '' : last
  if (frames === '' && isOnlyOfApp) return
  const { work: log } = recording
  const follow = (work: Work): void => {
    known.ids.push(id)
    waits.set(id, { work, sample: () => log.sample(), resource })
  }
  if (isPort) {
    // The constructor of a worker makes its ports: their stack is that of the worker.
    if (known.worker?.frames === frames) follow(known.worker.work)
    return
  }
  known.frames.set(kind, { count: count + 1, last: frames })
  const work: Work = { startedAt: performance.now(), source: () => appSource(frames) }
  log.begin(kind, work)
  follow(work)
  if (kind === WORKER) known.worker = { work, frames }
}

/** Some resources call back several times: the last one is the end. */
function endWait (id: number): void {
  const wait = waits.get(id)
  if (wait === undefined) return
  // A timer may be unreferenced later.
  if (wait.resource.hasRef?.() === false) return
  wait.work.endedAt = performance.now()
  wait.sample()
}

/** Releases the waits of a request that is over. */
export function releaseResources (recording: Recording): void {
  for (const id of recording.get(requestWaits)?.ids ?? []) waits.delete(id)
}

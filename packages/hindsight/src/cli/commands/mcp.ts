import { createInterface } from 'node:readline'
import { parsedJson, settlesWithin } from '../../call.js'
import { messageOf } from '../../errors/thrown-value.js'
import type { ToolSource } from '../../reading/mcp/tools.js'
import { isObject } from '../../view/text.js'
import { runningServers } from '../../store/running-servers.js'
import { dataFolder, type Command, type CommandContext } from '../command.js'

const MODERN = 'io.modelcontextprotocol/protocolVersion'
/** Milliseconds for the last answers. */
const END_TIMEOUT = 2_000
/** The code of JSON-RPC for an error of the server. */
const INTERNAL_ERROR = -32603
const NO_APPLICATION = 'No application runs in debug mode here: start it, or name its address with --url.'

/** An address where no profiler has received the message. */
class NotReceivedError extends Error {}

type Headers = Readonly<Record<string, string>>
type Message = Readonly<Record<string, unknown>>

/** Connects a client of the Model Context Protocol to the running application, over standard input and output. */
export const mcp: Command = {
  args: '',
  options: {
    replay: { type: 'boolean', help: 'permit models to replay requests on the application' },
    url: { type: 'string', help: 'the application; default: the one that runs here' }
  },
  run: async ({ flags, open }) => {
    const pending = new Map<unknown, AbortController>()
    const answers = new Set<Promise<void>>()
    for await (const line of createInterface({ input: process.stdin })) {
      if (line.trim() === '') continue
      const message = parsedJson(line)
      if (isNotification(message)) {
        if (message.method === 'notifications/cancelled') pending.get(fieldOf(message.params, 'requestId'))?.abort()
        continue
      }
      const id = fieldOf(message, 'id')
      const cancelled = new AbortController()
      pending.set(id, cancelled)
      const answer = answerLine(line, message, { flags, open }, cancelled.signal)
        // A client waits for each answer.
        .catch((error: unknown) => failure(message, messageOf(error)))
        .then((text) => {
          pending.delete(id)
          if (text !== null && !cancelled.signal.aborted) process.stdout.write(`${text}\n`)
        })
      answers.add(answer)
      answer.finally(() => answers.delete(answer)).catch(() => {})
    }
    // The client has gone; a pipe still reads.
    await settlesWithin(Promise.allSettled(answers), END_TIMEOUT)
  }
}

/** The answer to a line, as a line of JSON: that of the application, or without one that of the stored profiles. */
async function answerLine (
  line: string, message: unknown, { flags, open }: Pick<CommandContext, 'flags' | 'open'>, signal: AbortSignal
): Promise<string | null> {
  const headers = headersOf(message)
  for (const address of addressesOf(flags)) {
    try {
      return await postMessage(address, line, headers, signal)
    } catch (error) {
      if (signal.aborted) return null
      const reason = `The application cannot be reached: ${messageOf(error)}`
      // What this process may have done, such as a replay, must not be repeated by another.
      if (flags.url !== undefined || !(error instanceof NotReceivedError)) return failure(message, reason)
    }
  }
  const [{ answerMessage }, { parts }] =
    [await import('../../reading/mcp/protocol.js'), await import('../../parts/index.js')]
  const refuse = (): never => { throw new Error(NO_APPLICATION) }
  const source = {
    parts,
    profiles: {
      search: async (options: object) => await (await open()).search(options as never),
      get: async (token: string) => await (await open()).get(token)
    },
    replay: undefined as ToolSource['replay'],
    routes: refuse
  }
  if (flags.replay === true) source.replay = refuse
  const { response } = await answerMessage(line, headers, source, signal)
  return JSON.stringify(response)
}

function addressesOf (flags: CommandContext['flags']): string[] {
  let urls = runningServers(dataFolder(flags)).map(({ url }) => url)
  if (flags.url !== undefined) urls = [`${String(flags.url).replace(/\/+$/, '')}/_profiler/`]
  if (flags.replay === true) return urls.map((url) => `${url}mcp?replay=1`)
  return urls.map((url) => `${url}mcp`)
}

/**
 * Rejects where no answer is one of the protocol; with a `NotReceivedError` where nothing listens, or the address is
 * that of another program.
 */
async function postMessage (address: string, line: string, headers: Headers, signal: AbortSignal): Promise<string> {
  const response = await fetch(address, {
    method: 'POST',
    body: line,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    redirect: 'manual',
    signal
  }).catch((error: Error) => {
    // The error of fetch has its reason as cause.
    const { message, code } = (error.cause ?? error) as NodeJS.ErrnoException
    throw code === 'ECONNREFUSED' ? new NotReceivedError(message) : new Error(message)
  })
  const text = await response.text()
  const answer = parsedJson(text)
  if (isObject(answer) && answer.jsonrpc === '2.0') return text
  const reason = String(fieldOf(answer, 'detail') ?? fieldOf(answer, 'message') ?? '')
  throw new NotReceivedError(`it has no profiler for this client, and answered ${response.status} ${reason}`.trim())
}

/** The headers that repeat what a message of the stateless revision says. */
function headersOf (message: unknown): Headers {
  const params = fieldOf(message, 'params')
  const version = fieldOf(fieldOf(params, '_meta'), MODERN)
  if (version === undefined) return {}
  const named = fieldOf(params, 'name') ?? fieldOf(params, 'uri')
  return {
    'mcp-protocol-version': encodedHeader(version),
    'mcp-method': encodedHeader(fieldOf(message, 'method')),
    ...named !== undefined && { 'mcp-name': encodedHeader(named) }
  }
}

function encodedHeader (value: unknown): string {
  const text = String(value)
  if (/^[!-~]+$/.test(text)) return text
  return `=?base64?${Buffer.from(text).toString('base64')}?=`
}

function isNotification (message: unknown): message is Message {
  return isObject(message) && typeof message.method === 'string' && !('id' in message)
}

function fieldOf (data: unknown, name: string): unknown {
  if (!isObject(data)) return undefined
  return data[name]
}

function failure (message: unknown, text: string): string {
  const error = { code: INTERNAL_ERROR, message: text }
  return JSON.stringify({ jsonrpc: '2.0', id: fieldOf(message, 'id') ?? null, error })
}

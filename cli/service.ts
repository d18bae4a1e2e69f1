import { CommandError } from './command.js'

const PATIENCE = 60_000

/** Asks a running service for JSON, with fields as a form; raises with what it says where it refuses. */
export async function askService<T> (url: string, signal: AbortSignal, fields?: ReadonlyArray<readonly [string, string]>): Promise<T> {
  let response: Response
  let answer: unknown
  try {
    response = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]),
      ...(fields !== undefined && { method: 'POST', body: new URLSearchParams(fields.map(([name, value]) => [name, value])) })
    })
    answer = JSON.parse(await response.text())
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError(`${new URL(url).origin} is no service that has a profiler: its answer is no JSON.`)
    const { message, cause } = error as Error
    throw new CommandError(`The service at ${new URL(url).origin} cannot be reached: ${cause instanceof Error && cause.message !== '' ? cause.message : message}. Name it with --url.`)
  }
  if (response.ok) return answer as T
  const { detail, message } = answer as { detail?: unknown, message?: unknown }
  throw new CommandError(`The service says ${response.status}: ${String(detail ?? message ?? 'nothing more')}${response.status === 404 ? ' (Requests are sent again in debug mode only.)' : ''}`)
}

import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

const TIMEOUT = 60_000

/** The path of a program in the given folders or in `PATH`; null where there is none. */
export function findProgram (name: string, folders: readonly string[] = []): string | null {
  const places = [...folders, ...(process.env.PATH ?? '').split(delimiter)].map((folder) => join(folder, name))
  return places.find((place) => existsSync(place)) ?? null
}

/** Where a program of a test is missing: it fails in CI; elsewhere the test is marked as skipped, with what to install. */
export function missing (t: Test, name: string, message: string): null {
  if (process.env.CI) throw new Error(message)
  t.pass(`${name} is installed`, { skip: message })
  return null
}

/** A folder that other users can read, removed after the test. */
export function serverFolder (t: Test, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `hindsight-${name}-`))
  chmodSync(folder, 0o755)
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Starts a server and waits until `isReady`; it is killed after the test. */
export async function startServer (
  t: Test, program: string, args: readonly string[], { folder, isReady }: { folder: string, isReady: () => Promise<unknown> }
): Promise<void> {
  const log = openSync(join(folder, 'log'), 'a')
  const server: ChildProcess = spawn(program, args, { cwd: folder, env: {}, stdio: ['ignore', log, log] })
  closeSync(log)
  const ended = new Promise((resolve) => server.once('exit', resolve))
  t.teardown(async () => {
    server.kill('SIGKILL')
    await ended
  })
  for (const until = Date.now() + TIMEOUT; Date.now() < until && server.exitCode === null; await sleep(50)) {
    try {
      await isReady()
      return
    } catch {
      // It does not accept connections yet.
    }
  }
  throw new Error(`${program} does not start:\n${readFileSync(join(folder, 'log'), 'utf8')}`)
}

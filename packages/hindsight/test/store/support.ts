import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { openStore } from '../../src/cli/store.js'
import type { Profile } from '../../src/store/profile.js'
import { SqliteStorage, type SqliteStorageOptions } from '../../src/store/sqlite.js'
import type { ProfileStorage } from '../../src/store/storage.js'
import { recordOf, type ProfileRecord } from '../../src/store/summary.js'

type Database = InstanceType<typeof import('@photostructure/sqlite')['DatabaseSync']>

/** The path of a store in a folder of its own, which is removed after the test. */
export function place (t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'profiles.db')
}

/** A store that is closed after the test; a warning fails the test unless it is expected. */
export function opened (t: Test, options: SqliteStorageOptions): SqliteStorage {
  const storage = new SqliteStorage({ warn: (message) => t.fail(message), ...options })
  t.teardown(() => storage.close())
  return storage
}

/** The store as a command opens it: in its thread, and a damaged file is not replaced. */
export async function openedByCommand (t: Test, path: string): Promise<ProfileStorage> {
  const storage = await openStore({ 'data-dir': dirname(path) })
  t.teardown(() => storage.close())
  return storage
}

export async function put (storage: ProfileStorage, profiles: readonly Profile[]): Promise<void> {
  await storage.put(recordsOf(profiles))
}

export function recordsOf (profiles: readonly Profile[]): ProfileRecord[] {
  return profiles.map(recordOf)
}

export async function listed (storage: ProfileStorage): Promise<string[]> {
  return (await storage.search({ limit: 100_000 })).profiles.map(({ token }) => token)
}

/** Another connection to the file of a store; it waits for a transaction of the store. */
export function connection (t: Test, path: string): Database {
  const library = isBuiltin('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite'
  const { DatabaseSync } = createRequire(import.meta.url)(library) as { DatabaseSync: new (path: string) => Database }
  const database = new DatabaseSync(path)
  database.exec('pragma busy_timeout = 10000')
  t.teardown(() => { if (database.isOpen) database.close() })
  return database
}

/** Moves what was written from the write-ahead log to the database file. */
export function checkpoint (t: Test, path: string): void {
  const database = connection(t, path)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}

/** The name of the file that was set aside, without its log. */
export function asides (path: string): string[] {
  return readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.set-aside`) && !name.endsWith('-wal'))
}

/** Fails unless each listed profile is listed once and can be read, and the totals are right; returns the tokens. */
export async function isConsistent (t: Test, storage: ProfileStorage): Promise<string[]> {
  const tokens = await listed(storage)
  const { profiles, failures, bytes } = await storage.stats()
  t.equal(tokens.length, profiles, 'the total of profiles')
  t.equal(new Set(tokens).size, tokens.length, 'no token twice')
  t.equal((await storage.search({ limit: 100_000, criteria: { error: true } })).profiles.length, failures, 'the total of failures')
  const found = await Promise.all(tokens.map(async (token) => await storage.get(token)))
  t.same(tokens.filter((token, i) => found[i]?.token !== token), [], 'profiles that cannot be read')
  t.equal(found.reduce((sum, profile) => sum + Buffer.byteLength(JSON.stringify(profile)), 0), bytes, 'the total of bytes')
  return tokens
}

interface Writer {
  /** Resolves when it has opened its store. */
  started: Promise<void>
  /** How many batches it has reported as written. */
  written: () => number
  warnings: () => string[]
  kill: () => void
  /** Null while it runs. */
  exitCode: () => number | null
  ended: Promise<number | null>
}

/** Profiles of each batch of a writer. */
export const PER_BATCH = 20

/** Starts `processes/writer.ts`. */
export function writer (t: Test, path: string, prefix: string, batches = Infinity): Writer {
  const child = spawn(
    process.execPath, ['--import=tsx', join(import.meta.dirname, 'processes/writer.ts'), path, prefix, String(batches)],
    { stdio: ['ignore', 'pipe', 'inherit'] }
  )
  t.teardown(() => { child.kill('SIGKILL') })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text })
  const lines = (pattern: RegExp): string[] => output.split('\n').filter((line) => pattern.test(line))
  return {
    started: once(child.stdout, 'data').then(() => {}),
    written: () => lines(/^\d+$/).length,
    warnings: () => lines(/^warning: /),
    kill: () => { child.kill('SIGKILL') },
    exitCode: () => child.exitCode,
    ended: once(child, 'close').then(([code]) => code as number | null)
  }
}

/** Waits until a condition holds; the time limit of the test ends it. */
export async function until (condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!await condition()) await sleep(5)
}

/** Runs another of the `processes/`; what it prints, and how it ended. */
export async function run (name: string, args: readonly string[], shell?: string): Promise<{ code: number | null, output: string, errors: string }> {
  const command = [process.execPath, '--import=tsx', join(import.meta.dirname, 'processes', name), ...args]
  const [file = '', ...rest] = shell === undefined ? command : ['sh', '-c', `${shell}; exec "$@"`, 'sh', ...command]
  const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { errors += text })
  const [code] = await once(child, 'close') as [number | null]
  return { code, output, errors }
}

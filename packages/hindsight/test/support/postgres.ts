import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort } from './ports.js'

type Environment = Record<string, string | undefined>

const DEBIAN = '/usr/lib/postgresql'
const MISSING = 'no PostgreSQL: install it (on Debian: apt-get install postgresql), ' +
  'or set POSTGRES_BIN to the folder of its programs'
const TIMEOUT = 120_000
const run = promisify(execFile)

/** A PostgreSQL server of a test, with a database `hindsight` and a superuser of the same name without a password. */
export interface PostgresServer {
  port: number
  url: string
  /** Kills all of its processes with SIGKILL; its data stay. */
  stop: () => Promise<void>
  /** Starts it again on the same port, and resolves when it accepts queries. */
  start: () => Promise<void>
  /** Suspends all of its processes, like a machine that hangs: connections stay open, and nothing is answered. */
  pause: () => void
  resume: () => void
  /** Executes SQL in the program `psql`; the rows, their columns separated by `|`. */
  psql: (sql: string) => Promise<string>
}

export interface PostgresOptions {
  /** Whether committed data survive a failure of the machine; slow, and not needed for `stop`. */
  durable?: boolean
  /** Further settings of the server, such as `max_connections: 20`. */
  settings?: Record<string, string | number>
}

/** The folder of the programs that `postgresServer` starts; undefined where this machine has none. */
export function findPostgres (env: Environment = process.env): string | undefined {
  const isComplete = (folder: string): boolean =>
    ['initdb', 'postgres', 'psql'].every((name) => existsSync(join(folder, name)))
  // A configured folder that is wrong must not be replaced silently by another one.
  if (env.POSTGRES_BIN) return isComplete(env.POSTGRES_BIN) ? env.POSTGRES_BIN : undefined
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : []
  const folders = versions.map((version) => join(DEBIAN, version, 'bin'))
  return [...folders, ...(env.PATH ?? '').split(delimiter)].find(isComplete)
}

/**
 * Starts a PostgreSQL server, which is stopped when the test ends. Where there is none, it fails in CI; elsewhere the
 * test is marked as skipped, with what to install, and null is returned:
 * `const postgres = await postgresServer(t); if (!postgres) return`.
 */
export async function postgresServer (
  t: Test, options: PostgresOptions = {}, env: Environment = process.env
): Promise<PostgresServer | null> {
  const programs = findPostgres(env)
  if (programs === undefined) {
    if (env.CI) throw new Error(MISSING)
    t.pass('PostgreSQL is installed', { skip: MISSING })
    return null
  }
  const folder = temporaryFolder()
  const data = join(folder, 'data')
  copyTemplate(programs, data)
  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: options.durable === true ? 'on' : 'off',
    shared_buffers: '16MB',
    ...options.settings
  }
  const args = ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  let server: ChildProcess | null = null

  const url = `postgres://hindsight@127.0.0.1:${port}/hindsight`
  const psql = async (sql: string): Promise<string> => {
    const options = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1']
    const { stdout } = await run(join(programs, 'psql'), [...options, '-d', url, '-c', sql])
    return stdout.trim()
  }
  const start = async (): Promise<void> => {
    let lastError: unknown
    for (const until = Date.now() + TIMEOUT; Date.now() < until; await sleep(20)) {
      // It ends at once while processes that were killed still hold its memory.
      if (server === null || hasEnded(server)) server = spawnServer(programs, args, folder)
      try {
        await psql('select 1')
        return
      } catch (error) {
        lastError = error
      }
    }
    throw new Error(`PostgreSQL does not start: ${String(lastError)}\n${readFileSync(join(folder, 'log'), 'utf8')}`)
  }
  const stop = async (): Promise<void> => {
    if (server === null || hasEnded(server)) return
    const ended = new Promise((resolve) => server?.once('exit', resolve))
    // Suspended before, so that it starts no other processes meanwhile.
    server.kill('SIGSTOP')
    for (const pid of [...childrenOf(server), server.pid]) signal(pid, 'SIGKILL')
    await ended
  }
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  await start()
  return {
    port,
    url,
    start,
    stop,
    pause: () => {
      signal(server?.pid, 'SIGSTOP')
      for (const pid of childrenOf(server)) signal(pid, 'SIGSTOP')
    },
    resume: () => { for (const pid of [...childrenOf(server), server?.pid]) signal(pid, 'SIGCONT') },
    psql
  }
}

let template: string | null = null

/** Copies a new cluster; only the first one of this process is made by `initdb`, which takes a second. */
function copyTemplate (programs: string, data: string): void {
  if (template === null) {
    const folder = temporaryFolder()
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    template = join(folder, 'data')
    const options = { ...owner(), cwd: folder, env: {}, stdio: 'pipe' as const }
    const args = ['-D', template, '-A', 'trust', '-U', 'hindsight', '--encoding=UTF8', '--no-locale', '--no-sync']
    execFileSync(join(programs, 'initdb'), args, options)
    const single = ['--single', '-D', template, 'postgres']
    execFileSync(join(programs, 'postgres'), single, { ...options, input: 'create database hindsight\n' })
  }
  cpSync(template, data, { recursive: true })
  // Copies of Node 22 and later do not keep it, and PostgreSQL checks it.
  chmodSync(data, 0o700)
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, data])
}

function spawnServer (programs: string, args: readonly string[], folder: string): ChildProcess {
  const command = ['-c', 'exec "$0" "$@" >> log 2>&1', join(programs, 'postgres'), ...args]
  return spawn('sh', command, { ...owner(), cwd: folder, env: {}, stdio: 'ignore' })
}

function temporaryFolder (): string {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-postgres-'))
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

let rootReplacement: { uid: number, gid: number } | null = null

/** PostgreSQL refuses to run as root: another user owns the cluster then. */
function owner (): { uid?: number, gid?: number } {
  if (process.getuid?.() !== 0) return {}
  if (rootReplacement === null) {
    const idOf = (option: string): number => {
      try {
        return Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      } catch {
        // A PostgreSQL that was not installed by the system's packages: the user `nobody`.
        return 65_534
      }
    }
    rootReplacement = { uid: idOf('-u'), gid: idOf('-g') }
  }
  return rootReplacement
}

function childrenOf (server: ChildProcess | null): number[] {
  return processes().filter(({ parent }) => parent === server?.pid).map(({ pid }) => pid)
}

/** All processes; by `ps` where there is no `/proc`, as Debian's smallest images have no `ps`. */
function processes (): Array<{ pid: number, parent: number }> {
  if (!existsSync('/proc/self/stat')) {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
    return lines.map((line) => line.trim().split(/ +/).map(Number)).map(([pid = 0, parent = 0]) => ({ pid, parent }))
  }
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      // `<pid> (<name>) <state> <parent> …`; the name may have spaces and parentheses.
      const [, parent] = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
      return [{ pid: Number(name), parent: Number(parent) }]
    } catch {
      // It has ended meanwhile.
      return []
    }
  })
}

function signal (pid: number | undefined, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function hasEnded ({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

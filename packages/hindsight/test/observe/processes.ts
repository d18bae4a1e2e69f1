import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Observations } from './observe.js'

const execute = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')
/** Types are erased, so that stack traces are in the places of the source. */
const LOADER = `--import=${join(ROOT, 'packages/hindsight/test/support/erase-types/register.js')}`
const PRELOAD = `--import=${join(ROOT, 'packages/hindsight/src/register.ts')}`
/** Bytes. */
const MAX_OUTPUT = 512 * 1024 * 1024
/** Milliseconds. */
const TIMEOUT = 600_000

/** How a process is started. */
export interface Start {
  preload?: boolean
  environment?: 'development' | 'production'
}

/** What Node.js prints with these arguments, beside the loader of TypeScript and the preload. */
export async function node (args: readonly string[], { preload = false, environment = 'development' }: Start = {}): Promise<string> {
  const { stdout } = await execute(process.execPath, [LOADER, ...(preload ? [PRELOAD] : []), ...args], {
    cwd: ROOT,
    env: { ...process.env, NODE_ENV: environment, STORAGE_URL: 'memory' },
    maxBuffer: MAX_OUTPUT,
    timeout: TIMEOUT
  })
  return stdout
}

/** By variant what is observed of the application; `prepare` is a module of the folder of that name. */
export async function observations (prepare: string | undefined, variants: readonly string[], start: Start = {}): Promise<Observations> {
  return JSON.parse(await node([join(import.meta.dirname, 'run.ts'), preparation(prepare), ...variants], start)) as Observations
}

/** The bytes by which the heap grows while many applications are created and closed. */
export async function growth (prepare?: string): Promise<number> {
  return Number(await node(['--expose-gc', join(import.meta.dirname, 'many-applications.ts'), preparation(prepare)]))
}

function preparation (name?: string): string {
  return name === undefined ? 'bare' : join(import.meta.dirname, 'prepare', `${name}.ts`)
}

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')

export interface Packed { files: Array<{ path: string }>, filename: string, unpackedSize: number }

const KEPT = join(ROOT, 'node_modules/.cache/packed')
/** Has the id of the process that packs. */
const LOCK = join(KEPT, 'lock')

/**
 * Builds the package and writes its archive into `folder`. Several tests pack the same files: the archive is kept by their content, as a build takes
 * 17 s of CPU time. One process packs at a time: all build in the same `dist`.
 */
export async function pack (folder: string): Promise<Packed> {
  const kept = join(KEPT, await digest())
  mkdirSync(KEPT, { recursive: true })
  while (!existsSync(kept)) {
    if (takeLock()) await keepArchive(kept).finally(() => { rmSync(LOCK) })
    else await sleep(100)
  }
  const found = JSON.parse(readFileSync(join(kept, 'packed.json'), 'utf8')) as Packed[] | Record<string, Packed>
  const packed = Object.values(found)[0] as Packed
  copyFileSync(join(kept, packed.filename), join(folder, packed.filename))
  return packed
}

/** Whether this process may pack now. A process that was killed leaves its lock. */
function takeLock (): boolean {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (isStale()) rmSync(LOCK, { force: true })
    return false
  }
}

function isStale (): boolean {
  try {
    process.kill(Number(readFileSync(LOCK, 'utf8')), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

async function keepArchive (kept: string): Promise<void> {
  // Another process may have had the lock since.
  if (existsSync(kept)) return
  const made = mkdtempSync(`${kept}-`)
  const { stdout } = await run('npm', ['pack', '-w', 'fastify-hindsight', '--json', '--loglevel=error', '--pack-destination', made], { cwd: ROOT })
  writeFileSync(join(made, 'packed.json'), stdout)
  renameSync(made, kept)
}

/** Of all files of the package that git does not ignore, besides its tests. */
async function digest (): Promise<string> {
  const flags = ['--cached', '--others', '--exclude-standard', '-z', '--', 'packages/hindsight']
  const { stdout } = await run('git', ['ls-files', ...flags], { cwd: ROOT, maxBuffer: 10_000_000 })
  const hash = createHash('sha256')
  for (const file of stdout.split('\0').filter((file) => !file.includes('/test/') && file !== '' && existsSync(join(ROOT, file)))) {
    hash.update(file).update(readFileSync(join(ROOT, file)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Installs an archive in a project as npm does, with the dependencies that are in this project already; the names of the dependencies. */
export async function unpack (archive: string, project: string): Promise<string[]> {
  const place = join(project, 'node_modules/fastify-hindsight')
  mkdirSync(place, { recursive: true })
  await run('tar', ['-xzf', archive, '-C', place, '--strip-components=1'])
  const { dependencies } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
  return Object.keys(dependencies)
}

/** Where the packages are that the root installs, and those that only slow tests need. */
const INSTALLED = [join(ROOT, 'node_modules'), join(ROOT, 'packages/hindsight/test/packages/node_modules')]

/** The folder of an installed package. */
export function installed (name: string): string {
  const places = INSTALLED.map((folder) => join(folder, name))
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new Error(`${name} is not installed: npm ci --prefix packages/hindsight/test/packages`)
  return found
}

/** Makes a package of this project available to another one; its place there. */
export function link (project: string, name: string, target = name): string {
  const place = join(project, 'node_modules', name)
  mkdirSync(join(place, '..'), { recursive: true })
  if (!existsSync(place)) symlinkSync(installed(target), place)
  return place
}

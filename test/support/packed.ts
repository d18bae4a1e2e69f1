import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')

export interface Packed { files: Array<{ path: string }>, filename: string, unpackedSize: number }

/** Builds the package and writes its archive into `folder`. */
export async function pack (folder: string): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--loglevel=error', '--pack-destination', folder], { cwd: ROOT })
  const found = JSON.parse(stdout) as Packed[] | Record<string, Packed>
  return Object.values(found)[0] as Packed
}

/** Installs an archive in a project as npm does, with the dependencies that are in this project already; the names of the dependencies. */
export async function unpack (archive: string, project: string): Promise<string[]> {
  const place = join(project, 'node_modules/fastify-hindsight')
  mkdirSync(place, { recursive: true })
  await run('tar', ['-xzf', archive, '-C', place, '--strip-components=1'])
  const { dependencies } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
  return Object.keys(dependencies)
}

/** Makes a package of this project available to another one; its place there. */
export function link (project: string, name: string, target = name): string {
  const place = join(project, 'node_modules', name)
  mkdirSync(join(place, '..'), { recursive: true })
  if (existsSync(join(ROOT, 'node_modules', target)) && !existsSync(place)) symlinkSync(join(ROOT, 'node_modules', target), place)
  return place
}

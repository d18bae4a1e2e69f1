import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

/** The commit that the service is compared with: the last one with a recorder of its own. */
export const REFERENCE = process.env.BENCH_REFERENCE ?? 'be6b51d8'

/** The folder of that commit with its packages; the first call installs them. */
export function referenceFolder (): string {
  const cache = join(ROOT, 'node_modules/.cache/bench')
  const folder = join(cache, REFERENCE)
  if (existsSync(folder)) return folder
  // Complete, or not at all.
  const unfinished = `${folder}.unfinished`
  const archive = `${folder}.tar`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  execFileSync('git', ['archive', '--output', archive, REFERENCE], { cwd: ROOT, stdio: 'inherit' })
  execFileSync('tar', ['-xf', archive, '-C', unfinished], { stdio: 'inherit' })
  rmSync(archive)
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: unfinished, stdio: ['ignore', 'ignore', 'inherit'] })
  renameSync(unfinished, folder)
  return folder
}

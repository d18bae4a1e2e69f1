import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { pack } from './packed.js'

const run = promisify(execFile)

/** Installs a fixture that has a package file of its own, and the packed package beside it; its folder, until the test file ends. */
export async function installFixture (t: Pick<Test, 'teardown'>, name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `hindsight-${name}-`))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(import.meta.dirname, '../fixtures', name), folder, { recursive: true })
  const { filename } = await pack(folder)
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  await run('npm', ['ci', ...flags], { cwd: folder })
  await run('npm', ['install', '--no-save', ...flags, filename], { cwd: folder })
  return folder
}

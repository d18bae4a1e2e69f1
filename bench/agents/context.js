// Prints what the harness gives to an agent, and counts the bytes: node context.js [arguments of fastify-hindsight]
import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname
const given = readFileSync(join(folder, '.given'), 'utf8')
let text = ''
if (given === 'log') text = readFileSync(join(folder, 'server.log'), 'utf8')
if (given === 'hindsight') {
  const args = process.argv.length > 2 ? process.argv.slice(2) : ['show', 'latest']
  const command = join(process.env.BENCH_ROOT, 'packages/hindsight/bin/fastify-hindsight.js')
  try {
    text = execFileSync(process.execPath, [command, ...args, '--data-dir', join(folder, '.data')], { encoding: 'utf8' })
  } catch (error) {
    // An exit code of 2 is a finding.
    text = error.stdout
  }
}
appendFileSync(join(folder, '.reads'), `${Buffer.byteLength(text)}\n`)
process.stdout.write(text)

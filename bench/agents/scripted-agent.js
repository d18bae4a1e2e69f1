// An agent without a model, which tests the harness: it reads what is given once, and repairs the applications of its
// arguments by their prepared solutions.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { BENCH_APPLICATION: name, BENCH_ROOT: root } = process.env
if (!readFileSync(0, 'utf8').includes('Repair app.js')) throw new Error('The task is missing.')
execFileSync(process.execPath, ['context.js'], { stdio: ['ignore', 'ignore', 'inherit'] })
console.log('turn')
if (process.argv.slice(2).includes(name)) {
  const solution = JSON.parse(readFileSync(join(root, 'bench/agents/apps', name, 'solution.json'), 'utf8'))
  writeFileSync('app.js', readFileSync('app.js', 'utf8').replace(solution.replace, () => solution.with))
  console.log('turn')
}

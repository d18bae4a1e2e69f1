import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { installFixture } from '../support/installed.js'

const run = promisify(execFile)

let folder: string
t.before(async () => { folder = await installFixture(t, 'jest') })

const swc = (type: string): unknown[] =>
  ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type }, sourceMaps: 'inline' }]
const tsJest = (module: string): unknown[] => ['ts-jest', {
  useESM: module === 'esnext',
  diagnostics: false,
  tsconfig: { module, target: 'es2022', moduleResolution: 'bundler', esModuleInterop: true, isolatedModules: true }
}]

for (const [name, transform, isModule] of [
  ['@swc/jest, CommonJS', swc('commonjs'), false],
  ['@swc/jest, ES modules', swc('es6'), true],
  ['ts-jest, CommonJS', tsJest('commonjs'), false],
  ['ts-jest, ES modules', tsJest('esnext'), true]
] as const) {
  t.test(`the tests of an application pass in Jest: ${name}`, async (t) => {
    const config = { testMatch: ['**/stock.ts'], transform: { '\\.ts$': transform }, extensionsToTreatAsEsm: isModule ? ['.ts'] : [], testTimeout: 120_000 }
    writeFileSync(join(folder, 'jest.config.json'), JSON.stringify(config))
    const flags = isModule ? ['--experimental-vm-modules'] : []
    const args = [...flags, 'node_modules/jest/bin/jest.js', '--json', '--no-cache']
    // Jest sets its environment where there is none.
    const env = { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '' }
    const { stdout } = await run(process.execPath, args, { cwd: folder, env }).catch((error: { stdout: string }) => error)
    const { numPassedTests, testResults } = JSON.parse(stdout) as { numPassedTests: number, testResults: Array<{ message: string }> }
    t.same(testResults.map(({ message }) => message), [''])
    t.equal(numPassedTests, 3)
  })
}

#!/usr/bin/env node
import { existsSync } from 'node:fs'

// A checkout runs its TypeScript sources; the package has no tsconfig.json and runs what was compiled.
const isCheckout = existsSync(new URL('../tsconfig.json', import.meta.url))
if (isCheckout) await import('tsx')
const { run } = await import(isCheckout ? '../cli/run.ts' : '../dist/cli/run.js')
await run(process.argv.slice(2))

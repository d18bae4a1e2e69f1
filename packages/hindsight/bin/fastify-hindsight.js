#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'

// Node.js 22.1 and later keep the compiled code of a command: the next one takes a sixth less CPU time.
module.enableCompileCache?.()
// A checkout runs its TypeScript sources, which the package does not have.
const isCheckout = existsSync(new URL('../src/cli/run.ts', import.meta.url))
if (isCheckout) await import('tsx')
const { runCommandLine } = await import(isCheckout ? '../src/cli/run.ts' : '../dist/cli/run.cjs')
await runCommandLine(process.argv.slice(2))

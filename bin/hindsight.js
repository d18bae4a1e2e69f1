#!/usr/bin/env node
// The sources are TypeScript; tsx loads them as they are.
import 'tsx'

const { run } = await import('../app/cli/run.ts')
await run(process.argv.slice(2))

import { runTogether } from '../../packages/hindsight/test/support/together.js'

await runTogether(import.meta.filename)

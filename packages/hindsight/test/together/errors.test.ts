import { runTogether } from '../support/together.js'

await runTogether(import.meta.filename)

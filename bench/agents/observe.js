// The preload without the profile of the process itself, which would show the check to the agent.
import { prepareDrivers } from '../../packages/hindsight/src/drivers.ts'
import { options } from '../../packages/hindsight/src/preload.ts'

prepareDrivers(options.queries !== false, options.profiler !== false)

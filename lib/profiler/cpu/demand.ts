/** The request header that asks for a CPU profile, with the value 1. */
export const CPU_HEADER = 'x-hindsight-cpu'

/** The query parameter that does the same. */
export const CPU_PARAMETER = '_cpu'

/** The folder that the embedded store lies in, where nobody names one; from where the process was started. */
export const DEFAULT_DATA_DIR = 'node_modules/.cache/hindsight'

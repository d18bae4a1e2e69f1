import { register } from 'node:module'

// Erased types leave each position as it is. Node.js would read the source map of each module of tap.
process.setSourceMapsEnabled(false)
register('./hooks.js', import.meta.url)

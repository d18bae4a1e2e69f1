import { asset } from './asset.js'

/** Colour, space and type of every page, light and dark. */
export const tokens = asset(import.meta.url, './tokens.css')

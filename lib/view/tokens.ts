import { style as readStyle } from './style.js'

/** Colour, space and type of every page, light and dark. */
export const tokens = readStyle(import.meta.url, './tokens.css')

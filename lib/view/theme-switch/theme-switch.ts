import { style as readStyle } from '../style.js'
import { script as readScript } from '../script.js'

/** How the switch looks. */
export const style = readStyle(import.meta.url, './style.css')

/** Makes the switch work; belongs at the end of the page. */
export const script = readScript(import.meta.url, './script.js')

/** Applies the theme that was chosen; belongs into the head, ahead of the style, so that no other theme is seen first. */
export const boot = readScript(import.meta.url, './boot.js')

/** The switch between the system's theme, light and dark: hidden until its script is there, as it does nothing without. */
export function render (): string {
  return '<button type="button" class="theme-switch" hidden><span class="label">Theme: </span><span>system</span></button>'
}

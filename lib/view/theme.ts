import { readAsset } from './asset.js'

/** The stylesheet that all pages begin with: colors, spaces and type for both themes, and the theme switch. */
export const style = readAsset(import.meta.url, './base.css')

/** The script of the theme switch, for the end of the page. */
export const script = readAsset(import.meta.url, './theme-switch.js')

/** Applies the chosen theme. It comes before the stylesheet in the head, so that no other theme is painted first. */
export const boot = `try {
const theme = localStorage.getItem('hindsight-theme')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}
`

/** The button that switches between the system's theme, light and dark; hidden until its script has run. */
export const button = '<button type="button" class="theme-switch" hidden>' +
  '<span class="label">Theme: </span><span>system</span></button>'

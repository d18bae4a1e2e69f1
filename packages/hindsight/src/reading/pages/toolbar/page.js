/* global toolbarMarkup, toolbarStyle */
// Shows the toolbar on a page of another server: one file, so that a policy has to allow this script only.
const base = document.currentScript.src.replace(/_wdt\/toolbar\.js.*$/s, '')
const host = document.createElement('hindsight-toolbar')
const pageRoot = host.attachShadow({ mode: 'open' })
const sheet = new CSSStyleSheet()
sheet.replaceSync(toolbarStyle)
pageRoot.adoptedStyleSheets = [sheet]
pageRoot.innerHTML = toolbarMarkup
for (const link of pageRoot.querySelectorAll('a')) link.href = base + link.getAttribute('href')
pageRoot.querySelector('.requests').dataset.since = new Date(performance.timeOrigin).toISOString()
const show = () => document.body.append(host)
if (document.body) show()
else document.addEventListener('DOMContentLoaded', show)

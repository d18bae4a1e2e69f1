/* global copyButton */
// Text that this script inserts is never parsed as markup, but for the fragments of the profiler.
(function () {
  'use strict'

  for (const link of document.querySelectorAll('[data-copies]')) {
    const source = document.getElementById(link.dataset.copies)
    link.replaceWith(copyButton(link.textContent, async function () {
      // The text of the profile has more, and is the same everywhere. A page that was saved has only its own.
      const response = link.dataset.sheet && await fetch(link.dataset.sheet).catch(function () {})
      return response && response.ok ? await response.text() : source.textContent
    }))
  }

  // The profile is stored after the response. Scripts in a parsed document do not run.
  async function loadFragment (place, tries) {
    try {
      const response = await fetch(place.dataset.fragment, { headers: { accept: 'text/html' } })
      if (response.status === 404 && tries > 1) {
        return setTimeout(function () { loadFragment(place, tries - 1) }, 400)
      }
      const fragment = response.ok ? new DOMParser().parseFromString(await response.text(), 'text/html').body : null
      if (!fragment || !fragment.querySelector('section')) return place.remove()
      place.classList.add('card', 'hint')
      place.replaceChildren(...fragment.childNodes)
    } catch {}
  }
  for (const place of document.querySelectorAll('[data-fragment]')) loadFragment(place, 5)
})()

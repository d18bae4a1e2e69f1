const form = document.querySelector('.log-filters')

if (form !== null) {
  const lines = document.querySelectorAll('.logs tbody tr')
  const count = document.querySelector('.log-count')
  const filter = function () {
    const level = form.level.selectedIndex
    const boxes = [...form.querySelectorAll('[name=channel]')]
    const channels = new Set(boxes.filter(function (box) { return box.checked }).map(function (box) { return box.value }))
    const text = form.q.value.toLowerCase()
    let shown = 0
    for (const line of lines) {
      const severity = Number(line.dataset.level)
      line.hidden = (severity >= 0 && severity < level) ||
        (boxes.length > 0 && !channels.has(line.cells[2].textContent)) ||
        (text !== '' && !line.cells[3].textContent.toLowerCase().includes(text))
      if (!line.hidden) shown++
    }
    count.textContent = shown.toLocaleString('en') + ' of ' + lines.length.toLocaleString('en') + (lines.length === 1 ? ' line' : ' lines')
  }
  if (form.classList.contains('is-live')) {
    form.querySelector('button').hidden = true
    form.addEventListener('input', filter)
    form.addEventListener('submit', function (event) {
      event.preventDefault()
      filter()
    })
  } else {
    form.addEventListener('change', function (event) {
      if (event.target.name !== 'time') form.requestSubmit()
    })
  }
}

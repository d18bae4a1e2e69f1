const form = document.querySelector('.threshold')

if (form !== null) {
  form.querySelector('button').hidden = true
  form.addEventListener('change', function () {
    const least = Number(form.threshold.value)
    for (const row of document.querySelectorAll('.waterfall .span')) row.hidden = Number(row.dataset.duration) < least
  })
}

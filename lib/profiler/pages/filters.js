// Filters apply when they change; without this script, by their button.
for (const form of document.querySelectorAll('form.filters')) {
  form.addEventListener('change', () => form.requestSubmit())
}

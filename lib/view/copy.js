// The clipboard interface exists in secure contexts only, not on plain http beyond localhost.
const copyText = async function (text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.readOnly = true
    area.style.position = 'fixed'
    document.body.append(area)
    area.select()
    try {
      return document.execCommand('copy')
    } catch {
      return false
    } finally {
      area.remove()
    }
  }
}

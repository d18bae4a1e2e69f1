try {
  const theme = localStorage.getItem('hindsight-theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}

// Before the first paint: the page's modules come later, and a page that was light and turns dark flashes.
try {
  const theme = localStorage.getItem('chairlift.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing has no choice of its own.
}

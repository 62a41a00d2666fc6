// Before the first paint, so that nothing flashes: the theme that was chosen here.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem('cos.theme');
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
})();

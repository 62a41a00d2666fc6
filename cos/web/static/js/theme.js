/** Light or dark: as the system has it, until somebody says otherwise. */

import { byId } from './dom.js';
import { stored } from './drafts.js';

const NEXT = { system: 'light', light: 'dark', dark: 'system' };
const GLYPHS = { system: '◐', light: '○', dark: '●' };

export function startTheme() {
  const node = byId('theme');
  const draw = () => {
    const theme = document.documentElement.dataset.theme ?? 'system';
    node.textContent = GLYPHS[theme];
    node.title = `Theme: ${theme === 'system' ? 'as the system' : theme}`;
    node.setAttribute('aria-label', node.title);
  };
  node.addEventListener('click', () => {
    const theme = NEXT[document.documentElement.dataset.theme ?? 'system'];
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    stored(() => (theme === 'system' ? localStorage.removeItem('cos.theme') : localStorage.setItem('cos.theme', theme)));
    draw();
  });
  draw();
}

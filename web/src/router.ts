/** Chooses the view by the address. */
import { effect, signal } from '@preact/signals';

/** Path of the address without a slash at its end; `/ui` is `/`. */
export const path = signal(pathOf(location));

/** Title of the view and of what is open in it; the first part of the tab's title. */
export const pageTitle = signal('');

effect(() => {
  document.title = pageTitle.value === '' ? 'Chairlift' : `${pageTitle.value} · Chairlift`;
});

addEventListener('popstate', () => (path.value = pathOf(location)));

/** Follows links within the page without loading it again. */
addEventListener('click', (event) => {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!isPlain || event.defaultPrevented || link === null) return;
  if (link.target !== '' || link.download !== '' || link.origin !== location.origin) return;
  // A place within the view: the browser goes there, and takes the focus along.
  if (link.hash !== '' && link.pathname === location.pathname) return;
  const target = pathOf(link);
  if (target !== '/' && !target.startsWith('/ui')) return;
  event.preventDefault();
  navigate(link.href);
});

/** @param isReplaced takes the place of the address that is left, which Back then passes over */
export function navigate(href: string, isReplaced = false): void {
  const { href: wanted } = new URL(href, location.href);
  if (isReplaced) history.replaceState(null, '', wanted);
  else if (wanted !== location.href) history.pushState(null, '', wanted);
  path.value = pathOf(location);
}

function pathOf({ pathname }: { readonly pathname: string }): string {
  const trimmed = pathname.replace(/(.)\/$/, '$1');
  return trimmed === '/ui' ? '/' : trimmed;
}

/** Chooses the view by the address. */
import { effect, signal } from '@preact/signals';
import { ROOT } from './root.ts';

// Without the proxy, the page is at the top too; what it links to is not.
if (pathOf(location) === null) {
  history.replaceState(null, '', ROOT + location.pathname + location.search + location.hash);
}

/** Path of the address below the root, without a slash at its end; `/ui` is `/`. */
export const path = signal(pathOf(location) ?? '/');

/** Title of the view and of what is open in it; the first part of the tab's title. */
export const pageTitle = signal('');

effect(() => {
  document.title = pageTitle.value === '' ? 'Chairlift' : `${pageTitle.value} · Chairlift`;
});

addEventListener('popstate', () => (path.value = pathOf(location) ?? '/'));

/** Follows links within the page without loading it again. */
addEventListener('click', (event) => {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!isPlain || event.defaultPrevented || link === null) return;
  if (link.target !== '' || link.download !== '' || link.origin !== location.origin) return;
  // A place within the view: the browser goes there, and takes the focus along.
  if (link.hash !== '' && link.pathname === location.pathname) return;
  const target = pathOf(link);
  if (target !== '/' && target?.startsWith('/ui') !== true) return;
  event.preventDefault();
  go(link.href);
});

/**
 * @param address below the root, such as `/ui/status`
 * @param isReplaced takes the place of the address that is left, which Back then passes over
 */
export function navigate(address: string, isReplaced = false): void {
  go(new URL(ROOT + address, location.href).href, isReplaced);
}

function go(wanted: string, isReplaced = false): void {
  if (isReplaced) history.replaceState(null, '', wanted);
  else if (wanted !== location.href) history.pushState(null, '', wanted);
  path.value = pathOf(location) ?? '/';
}

/** Null for what is not below the root. */
function pathOf({ pathname }: { readonly pathname: string }): string | null {
  if (!`${pathname}/`.startsWith(`${ROOT}/`)) return null;
  const trimmed = pathname.slice(ROOT.length).replace(/\/$/, '') || '/';
  return trimmed === '/ui' ? '/' : trimmed;
}

/** Which view is shown, by the address. */
import { signal } from '@preact/signals';

/** Of the address, without a slash at its end; `/ui` is `/`. */
export const path = signal(pathOf(location));

addEventListener('popstate', () => (path.value = pathOf(location)));

/** Follows links within the page without loading it again. */
addEventListener('click', (event) => {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!isPlain || event.defaultPrevented || link === null) return;
  if (link.target !== '' || link.download !== '' || link.origin !== location.origin) return;
  const target = pathOf(link);
  if (target !== '/' && !target.startsWith('/ui')) return;
  event.preventDefault();
  navigate(link.href);
});

export function navigate(href: string): void {
  if (href !== location.href) history.pushState(null, '', href);
  path.value = pathOf(location);
}

function pathOf({ pathname }: { readonly pathname: string }): string {
  const trimmed = pathname.replace(/(.)\/$/, '$1');
  return trimmed === '/ui' ? '/' : trimmed;
}

/** The forms of /docs: the page is whole without them, and each is made when it is opened. */
import { render } from 'preact';
import styles from './docs.css?url';
import { KeyField } from './key-field.tsx';
import { SocketConsole } from './socket-console.tsx';
import { ThemeButton } from './theme-button.tsx';
import { TryIt } from './try-it.tsx';

const link = document.createElement('link');
link.rel = 'stylesheet';
link.href = styles;
document.head.append(link);

const themePlace = document.querySelector<HTMLElement>('#theme');
if (themePlace !== null) render(<ThemeButton />, themePlace);

const keyPlace = document.querySelector<HTMLElement>('#key');
if (keyPlace !== null) render(<KeyField />, keyPlace);

for (const place of document.querySelectorAll<HTMLElement>('section[data-path] .try')) {
  const { method = 'get', path = '' } = place.closest('section')?.dataset ?? {};
  render(<TryIt method={method} path={path} />, place);
}

const socketPlace = document.querySelector<HTMLElement>('#web-socket .try');
if (socketPlace !== null) render(<SocketConsole />, socketPlace);

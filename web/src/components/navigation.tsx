import { effect } from '@preact/signals';
import { apiKey, askForKey } from '../api/key.ts';
import { serverVersion } from '../api/version.ts';
import { ROOT } from '../root.ts';
import { path } from '../router.ts';
import { type Route, ROUTES, routeOf } from '../routes.ts';
import { nextTheme, theme } from '../theme.ts';
import { Icon } from './icon.tsx';
import { showShortcuts } from './shortcuts.tsx';

/** Where each view was left: a link back to it must not close what was open in it. */
const left = new Map<Route, string>();

effect(() => {
  const route = routeOf(path.value);
  if (route !== undefined) left.set(route, path.value);
});

/** A column on wide screens, a bar at the bottom on narrow ones. */
export function Navigation() {
  const current = routeOf(path.value);
  const key = apiKey.value === '' ? 'API key: none' : 'API key: set';
  return (
    <nav class="navigation" aria-label="Views">
      <a class="brand" href={`${ROOT}/`} title={`Chairlift ${serverVersion.value}`}>
        <img src={`${ROOT}${import.meta.env.BASE_URL}favicon.svg`} alt="" width={26} height={26} />
        <span class="hidden-text">Chairlift</span>
      </a>
      <ul>
        {ROUTES.map((route) => {
          const isCurrent = route === current;
          const href = (isCurrent ? undefined : left.get(route)) ?? route.path;
          return (
            <li key={route.path}>
              <a href={ROOT + href} aria-current={isCurrent ? 'page' : undefined}>
                <Icon name={route.icon} />
                <span>{route.title}</span>
              </a>
            </li>
          );
        })}
        <li>
          <a href={`${ROOT}/docs`} target="_blank" rel="noreferrer">
            <Icon name="docs" />
            <span>API</span>
          </a>
        </li>
      </ul>
      <div class="navigation-tools">
        <button
          class="quiet only-wide"
          onClick={showShortcuts}
          title="Keyboard shortcuts (?)"
          aria-label="Keyboard shortcuts"
        >
          <Icon name="keyboard" />
        </button>
        <button class="quiet" onClick={() => askForKey()} title={key} aria-label="API key">
          <Icon name="key" />
        </button>
        <button
          class="quiet"
          onClick={nextTheme}
          title={`Colors: ${theme.value}`}
          aria-label={`Colors: ${theme.value}`}
        >
          <Icon name="theme" />
        </button>
      </div>
    </nav>
  );
}

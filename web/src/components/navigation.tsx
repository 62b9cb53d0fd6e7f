import { serverVersion } from '../api/version.ts';
import { apiKey, askForKey } from '../api/key.ts';
import { path } from '../router.ts';
import { ROUTES } from '../routes.ts';
import { nextTheme, theme } from '../theme.ts';
import { Icon } from './icon.tsx';

/** A column on wide screens, a bar at the bottom on narrow ones. */
export function Navigation() {
  return (
    <nav class="navigation" aria-label="Views">
      <a class="brand" href="/" title={`Chairlift ${serverVersion.value}`}>
        <img src={`${import.meta.env.BASE_URL}favicon.svg`} alt="" width={26} height={26} />
        <span class="hidden-text">Chairlift</span>
      </a>
      <ul>
        {ROUTES.map((route) => (
          <li key={route.path}>
            <a href={route.path} aria-current={route.path === path.value ? 'page' : undefined}>
              <Icon name={route.icon} />
              <span>{route.title}</span>
            </a>
          </li>
        ))}
        <li>
          <a href="/docs" target="_blank" rel="noreferrer">
            <Icon name="docs" />
            <span>API</span>
          </a>
        </li>
      </ul>
      <div class="navigation-tools">
        <button
          class="quiet"
          onClick={() => askForKey()}
          title={apiKey.value === '' ? 'API key: none' : 'API key: set'}
          aria-label="API key"
        >
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

import { nextTheme, theme } from '../theme.ts';

/** The colors of the server's page and of this one. */
export function ThemeButton() {
  return (
    <button type="button" class="theme-button" onClick={nextTheme}>
      Colors: {theme.value}
    </button>
  );
}

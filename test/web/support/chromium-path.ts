import { existsSync } from 'node:fs';

/** Debian's Chromium, or what CHROMIUM_PATH names; null where there is none. */
export function chromiumPath(): string | null {
  const path = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
  return existsSync(path) ? path : null;
}

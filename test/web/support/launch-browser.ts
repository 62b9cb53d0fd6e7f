import { type Browser, chromium } from 'playwright-core';
import { chromiumPath } from './chromium-path.ts';

/** @param more further arguments of Chromium */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error('there is no Chromium; see CHROMIUM_PATH');
  // In containers tests run as root, and there its sandbox does not work.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', ...more];
  return chromium.launch({ executablePath, args });
}

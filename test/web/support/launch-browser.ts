import { type Browser, chromium } from 'playwright-core';
import { chromiumPath } from './chromium-path.ts';

export async function launchBrowser(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error('there is no Chromium; see CHROMIUM_PATH');
  // In containers tests run as root, and there its sandbox does not work.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/**
 * Pictures of the page's views, light and dark, for the documentation: docs/images/page-NAME-light.png
 * and so on. Needs a built server and Chromium (CHROMIUM_PATH).
 *
 *   npx tsx scripts/web/screenshots.ts [view ...]
 */
import { fileURLToPath } from 'node:url';
import { startServer } from '../../test/support/server-process.ts';
import { launchBrowser } from '../../test/web/support/launch-browser.ts';
import { SHOTS } from './shots.ts';

const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const COLORS = ['light', 'dark'] as const;

const names = process.argv.slice(2);
const browser = await launchBrowser();
try {
  for (const { name, path, args = [], viewport, prepare } of SHOTS) {
    if (names.length > 0 && !names.includes(name)) continue;
    const server = await startServer(args);
    try {
      for (const colorScheme of COLORS) {
        const context = await browser.newContext({
          colorScheme,
          viewport: viewport ?? { width: 1200, height: 750 },
          reducedMotion: 'reduce',
        });
        const page = await context.newPage();
        await page.goto(server.url + path);
        await page.locator('h1').first().waitFor({ state: 'attached' });
        await prepare?.(page, server.url);
        const file = `${IMAGES}page-${name}-${colorScheme}.png`;
        await page.screenshot({ path: file });
        console.log(file);
        await context.close();
      }
    } finally {
      await server.stop();
    }
  }
} finally {
  await browser.close();
}

/**
 * Draws the icons of the page's manifest from its SVG. They are committed: builds need no browser.
 *
 *   npx tsx scripts/web/icons.ts
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../../test/web/support/launch-browser.ts';

const PUBLIC = fileURLToPath(new URL('../../web/public/', import.meta.url));
/** Sizes of the icons that browsers ask of a page that can be installed. */
const SIZES = [192, 512];

const svg = readFileSync(`${PUBLIC}favicon.svg`, 'utf8');
const browser = await launchBrowser();
for (const size of SIZES) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${svg}`);
  // Its corners are round: what is around them stays transparent.
  await page.screenshot({ path: `${PUBLIC}icon-${size}.png`, omitBackground: true });
  await page.close();
}
await browser.close();

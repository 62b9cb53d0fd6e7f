import { defineConfig } from 'vitest/config';
import { chromiumPath } from './support/chromium-path.ts';
import { shared } from '../support/vitest-shared.ts';

const hasChromium = chromiumPath() !== null;
if (!hasChromium) {
  console.error(
    '*** There is no Chromium at /usr/bin/chromium or CHROMIUM_PATH: TESTS OF THE PAGE ARE SKIPPED.',
  );
}

/** The page in a real browser, in front of real servers (`npm run test:web`). */
export default defineConfig({
  test: {
    ...shared,
    include: hasChromium ? ['test/web/*.test.ts'] : [],
    passWithNoTests: !hasChromium,
    // Mostly they wait for one another: the page, the browser and the server.
    maxWorkers: 2,
    env: { CHAIRLIFT_THREADS: '1' },
    testTimeout: 60_000,
  },
});

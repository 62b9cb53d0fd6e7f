import { mountAll } from './support/mount-all.ts';

await mountAll('browser', new URL('./attacks/browser.ts', import.meta.url));

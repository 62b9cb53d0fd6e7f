import { mountAll } from './support/mount-all.ts';

await mountAll('cross key', new URL('./attacks/cross-key.ts', import.meta.url));

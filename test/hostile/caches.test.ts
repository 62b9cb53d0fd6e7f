import { mountAll } from './support/mount-all.ts';

await mountAll('caches', new URL('./attacks/caches.ts', import.meta.url));

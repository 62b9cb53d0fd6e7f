import { mountAll } from './support/mount-all.ts';

await mountAll('tiers', new URL('./attacks/tiers.ts', import.meta.url));

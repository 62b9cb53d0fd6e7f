import { mountAll } from './support/mount-all.ts';

await mountAll('rates', new URL('./attacks/rates.ts', import.meta.url));

import { mountAll } from './support/mount-all.ts';

await mountAll('tokenizing', new URL('./attacks/tokenizing.ts', import.meta.url));

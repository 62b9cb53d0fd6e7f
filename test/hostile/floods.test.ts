import { mountAll } from './support/mount-all.ts';

await mountAll('floods', new URL('./attacks/floods.ts', import.meta.url));

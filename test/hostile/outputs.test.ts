import { mountAll } from './support/mount-all.ts';

await mountAll('outputs', new URL('./attacks/outputs.ts', import.meta.url));

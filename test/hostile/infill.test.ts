import { mountAll } from './support/mount-all.ts';

await mountAll('infill', new URL('./attacks/infill.ts', import.meta.url));

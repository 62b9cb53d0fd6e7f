import { mountAll } from './support/mount-all.ts';

await mountAll('batches', new URL('./attacks/batches.ts', import.meta.url));

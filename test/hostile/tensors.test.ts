import { mountAll } from './support/mount-all.ts';

await mountAll('tensors', new URL('./attacks/tensors.ts', import.meta.url));

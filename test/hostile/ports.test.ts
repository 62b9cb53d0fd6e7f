import { mountAll } from './support/mount-all.ts';

await mountAll('ports', new URL('./attacks/ports.ts', import.meta.url));

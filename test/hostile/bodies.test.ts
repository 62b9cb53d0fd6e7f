import { mountAll } from './support/mount-all.ts';

await mountAll('bodies', new URL('./attacks/bodies.ts', import.meta.url));

import { mountAll } from './support/mount-all.ts';

await mountAll('models that see many tiles', new URL('./attacks/tiles.ts', import.meta.url));

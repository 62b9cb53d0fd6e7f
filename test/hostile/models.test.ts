import { mountAll } from './support/mount-all.ts';

await mountAll('models', new URL('./attacks/models.ts', import.meta.url));
